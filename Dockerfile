# One image for every process; the command says which. compose.yaml shows them together.
FROM python:3.13-slim AS build
WORKDIR /opt/mirante
RUN python -m venv venv
COPY requirements.txt ./
RUN venv/bin/pip install --no-cache-dir --disable-pip-version-check --require-hashes -r requirements.txt
COPY manage.py ./
COPY dashboard dashboard
COPY queues queues
COPY templates templates
COPY static static
# The key is forgotten with this line: collecting files signs nothing, and no secret may stay in the image.
RUN SECRET_KEY="$(venv/bin/python -c 'import secrets; print(secrets.token_urlsafe(50))')" \
    venv/bin/python manage.py collectstatic --no-input --verbosity 0 \
    && venv/bin/python -m compileall -q dashboard queues

FROM python:3.13-slim
RUN useradd --system --uid 10001 --user-group --home-dir /opt/mirante --no-create-home mirante
WORKDIR /opt/mirante
COPY --from=build /opt/mirante ./
# Static files are part of the image, so `var` is no volume: an old one would hide the files of a new version.
RUN chown -R 10001:10001 var
USER 10001:10001
ENV PATH=/opt/mirante/venv/bin:$PATH \
    PYTHONUNBUFFERED=1 \
    BIND=0.0.0.0 \
    PORT=8000
EXPOSE 8000
HEALTHCHECK --interval=15s --timeout=10s --start-period=60s --start-interval=2s \
    CMD ["python", "-c", "import urllib.request; urllib.request.urlopen('http://127.0.0.1:8000/healthz', timeout=8)"]
CMD ["python", "-m", "daphne", "-v", "0", "--no-server-name", "-b", "0.0.0.0", "-p", "8000", "dashboard.asgi:application"]
