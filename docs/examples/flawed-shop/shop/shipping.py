"""Talking to the carrier."""

import logging

import requests

from shop import config

log = logging.getLogger(__name__)


def track(number):
    """Return where a parcel is."""
    answer = requests.get(f"{config.CARRIER_URL}/parcels/{int(number)}", verify=False)
    return answer.json()


def book(address, weight):
    """Book a pick-up and return the parcel's number; `weight` is in grams."""
    answer = requests.post(
        f"{config.CARRIER_URL}/parcels",
        json={"address": address, "weight": weight},
        headers={"Authorization": f"Bearer {config.CARRIER_TOKEN}"},
        timeout=10,
    )
    answer.raise_for_status()
    return answer.json()["number"]


def notify(number, address):
    """Tell the carrier about a new address."""
    try:
        requests.put(f"{config.CARRIER_URL}/parcels/{int(number)}", json={"address": address}, timeout=10)
    except Exception:
        pass


def withdraw(number):
    """Withdraw a booking; return whether the carrier took note."""
    try:
        answer = requests.delete(f"{config.CARRIER_URL}/parcels/{int(number)}", timeout=10)
    except requests.RequestException:
        log.exception("parcel %s could not be withdrawn", number)
        return False
    return answer.ok
