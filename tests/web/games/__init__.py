"""Seats in games other than GuanDan, in the browser."""
