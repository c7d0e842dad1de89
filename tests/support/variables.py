"""Environment variables with which a process would start, and values for others."""

from tests.conftest import SECRET_KEY

SECRET = "hunter2"
GOOD = {
    "SECRET_KEY": SECRET_KEY,
    "DATABASE_URL": f"postgresql://ticketing:{SECRET}@127.0.0.1:9/ticketing",
    "RPC_URL_31337": f"http://someone:{SECRET}@127.0.0.1:9/v3/{SECRET}",
}
ADDRESS = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913"
MAX_CHAIN_ID = 2**53 - 1
NOT_UNICODE = "caf\udce9" * 10
