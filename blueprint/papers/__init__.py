"""Systems of published papers, and the parts that they alone use: DanZero, DanZero+, SDMC, PDHQN and ODMC.

Nothing else imports this folder. Fields of configurations switch its parts on, by the
table here (`blueprint.paper_parts`); without the folder such a field is refused in words, and all else works.
"""

PARTS = {
    "recipe": "recipes:named_recipe",
    "recipes": "recipes:RECIPES",
    "check": "fields:check_fields",
    "alpha": "fields:ALPHA",
    "policy player": "top_policy:TopAgent",
    "policy loss": "top_policy:policy_loss",
    "GuanDan network": "danzero:DanZeroNetwork",
    "GuanDan network in play": "danzero:DanZeroPlay",
    "self-play": "players:self_player",
    "style": "styles:StyledAgent",
    "pruned": "pruning:Pruned",
    "pruner": "pruning:pruner",
    "climbing network": "listening:ListeningNetwork",
    "climbing network in play": "listening:ListeningMoves",
    "climbing network unheard": "listening:unheard",
    "climbing style": "listening:load_persona_agent",
    "labels": "players:labels",
}
"""Where each part is: module of the wing and name."""
