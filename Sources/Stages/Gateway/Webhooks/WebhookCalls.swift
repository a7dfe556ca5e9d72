internal import Catalog
internal import CatalogRecords
internal import HTTPServer
internal import Identifiers
internal import JSON

/// The decisions of the calls about webhook endpoints.
enum WebhookCalls {
    static func list(in context: RequestContext) -> RequestDecision {
        var json = JSONWriter(capacity: 4096)
        json.beginObject()
        let endpoints = context.catalog.webhooks(of: context.app.id).values.sorted { $0.name < $1.name }
        json.objects("items", of: endpoints) { endpoint, json in write(endpoint, to: &json) }
        json.endObject()
        return .answer(.json(json.bytes))
    }

    static func show(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        .answer(response(for: try endpoint(in: context)))
    }

    static func delete(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        .changeCatalog(.delete(try endpoint(in: context)), HTTPResponse(status: 204))
    }

    /// Creates or replaces an endpoint. A new endpoint gets a secret, which only this answer contains. An existing one
    /// keeps its secrets, and is enabled.
    static func put(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let name = try name(in: context)
        let object = try context.bodyRoot().object()
        let url = object["url"].webhookURL()
        if let url, url.scheme != .https { object["url"].report("must begin with https://") }
        let types = object["events"].webhookEventTypes()
        object.reportUnknownFields()
        try context.throwProblems()
        let existing = context.catalog.webhooks(of: context.app.id)
        if var endpoint = existing[name] {
            endpoint.url = url?.text ?? ""
            endpoint.types = types
            endpoint.disabling = nil
            return .changeCatalog(.put(endpoint), response(for: endpoint))
        }
        guard existing.count < WebhookEndpoint.countPerAppMax else {
            throw conflict(
                "too_many",
                "the app has \(WebhookEndpoint.countPerAppMax) webhook endpoints; delete one first")
        }
        let secret = WebhookSecret()
        guard
            let sealed = secret.sealed(
                by: context.seal, app: context.app.id, endpoint: name, now: context.acceptedAt)
        else {
            throw conflict(
                "no_sealing_keys",
                "this installation has no sealing keys, so it cannot store a secret; the operator must set tokens.sealing-keys-file"
            )
        }
        let endpoint = WebhookEndpoint(
            app: context.app.id, name: name, url: url?.text ?? "", types: types, secrets: [sealed],
            createdAt: context.acceptedAt)
        return .changeCatalog(.put(endpoint, action: "create"), response(for: endpoint, secret: secret))
    }

    private static func conflict(_ code: String, _ message: String) -> RefusedRequest {
        RefusedRequest([RequestProblem(code: code, at: "", message: message)], status: 409)
    }

    /// Returns the name in the path. It is a part of the name of a consumer group, so it has the characters of an app's
    /// id.
    private static func name(in context: RequestContext) throws(RefusedRequest) -> String {
        let name = context.parameters["name"] ?? ""
        if let problem = AppIDRules.problem(name) {
            throw RefusedRequest([RequestProblem(code: "invalid", at: "name", message: problem)])
        }
        return name
    }

    private static func endpoint(in context: RequestContext) throws(RefusedRequest) -> WebhookEndpoint {
        let name = try name(in: context)
        if let endpoint = context.catalog.webhooks(of: context.app.id)[name] { return endpoint }
        throw unknownEndpoint
    }

    /// The refusal of a call about an endpoint that the app does not have.
    static let unknownEndpoint = RefusedRequest(
        [
            RequestProblem(
                code: "webhook_unknown", at: "name",
                message: "is unknown in this app; GET /v1/webhooks lists the known ones", isUnknown: true)
        ], status: 404)

    private static func response(
        for endpoint: WebhookEndpoint, secret: WebhookSecret? = nil
    ) -> HTTPResponse {
        var json = JSONWriter(capacity: 1024)
        json.beginObject()
        write(endpoint, to: &json)
        json.field("secret", secret?.text)
        json.endObject()
        return .json(json.bytes)
    }

    /// Writes the members of an endpoint, without its secrets.
    private static func write(_ endpoint: WebhookEndpoint, to json: inout JSONWriter) {
        json.field("name", endpoint.name)
        json.field("url", endpoint.url)
        json.field("events", endpoint.types.map(\.rawValue))
        json.field("createdAt", endpoint.createdAt)
        json.field("secretCreatedAt", endpoint.secrets.first?.createdAt)
        json.field("disabledAt", endpoint.disabling?.at)
        json.field("disabledBecause", endpoint.disabling?.reason)
        json.field("replayedAt", endpoint.replay?.requestedAt)
    }
}
