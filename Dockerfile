# The image of the web server, the worker and the commands. It has no shell and no package manager:
# `docker run --rm ticketing flask --app app version`. See docs/hosting.md.
#
# Packages of Python are pinned by hash in requirements.txt, those of Debian are signed. Pin the base
# by its digest, too: --build-arg BASE=debian:bookworm-slim@sha256:...
ARG BASE=debian:bookworm-slim
FROM ${BASE} AS build
WORKDIR /src
COPY . .
RUN sh deploy/container/build.sh /out

FROM scratch
COPY --from=build /out /
ENV PATH=/app/.venv/bin:/usr/bin \
    PYTHONUTF8=1 \
    PYTHONUNBUFFERED=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt \
    DATABASE_URL=sqlite:////data/ticketing.db \
    LOG_FORMAT=json \
    PORT=8000
WORKDIR /app
USER 10001:10001
VOLUME /data
EXPOSE 8000
HEALTHCHECK --interval=10s --timeout=5s --start-period=20s CMD ["python", "healthcheck.py"]
CMD ["gunicorn", "app:create_app()"]
