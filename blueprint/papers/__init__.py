"""Systems of published papers, and the parts that they alone use: DanZero, DanZero+, SDMC, PDHQN and ODMC.

Nothing else imports this folder. Fields of configurations switch its parts on, by the table of
`blueprint.paper_parts`; without the folder such a field is refused in words, and all else works.
"""
