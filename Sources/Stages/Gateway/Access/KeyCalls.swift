internal import Catalog
internal import CatalogRecords
internal import HTTPServer
internal import Identifiers
internal import JSON

/// The decisions of the calls about the API keys of the caller's app. A key's text is in the answer to its creation only.
enum KeyCalls {
    /// The records of keys that an app may have, revoked ones included. Beyond it a new key is refused with 409.
    static let countPerAppMax = 1000

    static func list(in context: RequestContext) -> RequestDecision {
        var json = JSONWriter(capacity: 4096)
        json.beginObject()
        json.objects("items", of: context.catalog.keys(of: context.app.id)) { key, json in
            write(key, to: &json)
        }
        json.endObject()
        return .answer(.json(json.bytes))
    }

    static func show(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        .answer(response(for: try key(in: context)))
    }

    /// Creates a key. A repeated call creates another one, so a client that got no answer lists the keys and revokes the
    /// key that it does not know.
    static func create(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        let object = try context.bodyRoot().object()
        let role = object["role"].choice(of: APIKey.Role.self) ?? .report
        let fields = Fields(in: object, context: context)
        object.reportUnknownFields()
        try context.throwProblems()
        guard context.catalog.keys(of: context.app.id).count < countPerAppMax else {
            throw conflict(
                "too_many",
                "the app has \(countPerAppMax) keys; delete a revoked one first, with another DELETE of it")
        }
        var (text, key) = APIKeyText.makeKey(
            app: context.app.id, role: role, atMilliseconds: context.acceptedAt)
        fields.apply(to: &key)
        return .changeCatalog(.put(key, action: "create"), response(for: key, text: text, status: 201))
    }

    /// Changes the name or the expiry of a key. A member that the body omits stays as it is.
    static func change(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        var key = try key(in: context)
        let object = try context.bodyRoot().object()
        let fields = Fields(in: object, context: context)
        // The message follows the field's name: "name or expiresAt is required".
        if fields.isEmpty { object["name"].report("or expiresAt is required") }
        object.reportUnknownFields()
        try context.throwProblems()
        guard !key.hasEnded(at: context.acceptedAt) else {
            throw conflict("key_ended", "the key is revoked or expired; create a new one with POST /v1/keys")
        }
        fields.apply(to: &key)
        return .changeCatalog(.put(key, action: "update"), response(for: key))
    }

    /// Revokes a key. Deletes the record of a key that is revoked or expired already.
    static func revoke(in context: RequestContext) throws(RefusedRequest) -> RequestDecision {
        var key = try key(in: context)
        if key.hasEnded(at: context.acceptedAt) {
            return .changeCatalog(.delete(key), HTTPResponse(status: 204))
        }
        key.revokedAt = context.acceptedAt
        return .changeCatalog(.put(key, action: "revoke"), response(for: key))
    }

    /// The members of a body that a key can have and that can change.
    private struct Fields {
        let name: String?
        /// Milliseconds since 1970.
        let expiresAt: Int64?

        var isEmpty: Bool { name == nil && expiresAt == nil }

        init(in object: JSONObject, context: RequestContext) {
            name = object["name"].optional?.name()
            expiresAt = object["expiresAt"].optional?.futureMilliseconds(now: context.now)
        }

        func apply(to key: inout APIKey) {
            if let name { key.name = name }
            if let expiresAt { key.expiresAt = expiresAt }
        }
    }

    private static func conflict(_ code: String, _ message: String) -> RefusedRequest {
        RefusedRequest([RequestProblem(code: code, at: "", message: message)], status: 409)
    }

    /// Returns the key of the app with the id in the path.
    private static func key(in context: RequestContext) throws(RefusedRequest) -> APIKey {
        if let key = context.catalog.keys[context.parameters["id"] ?? ""], key.app == context.app.id {
            return key
        }
        throw RefusedRequest(
            [
                RequestProblem(
                    code: "key_unknown", at: "id",
                    message: "is not the id of a key of this app; GET /v1/keys lists them", isUnknown: true)
            ], status: 404)
    }

    private static func response(for key: APIKey, text: String? = nil, status: Int = 200) -> HTTPResponse {
        var json = JSONWriter(capacity: 512)
        json.beginObject()
        write(key, to: &json)
        json.field("key", text)
        json.endObject()
        var response = HTTPResponse.json(json.bytes, status: status)
        if text != nil { response.headers.add("Location", value: "/v1/keys/\(key.id)") }
        return response
    }

    /// Writes the members of a key, without the hash of its secret.
    private static func write(_ key: APIKey, to json: inout JSONWriter) {
        json.field("id", key.id)
        json.field("role", key.role.rawValue)
        json.field("name", key.name)
        json.field("createdAt", key.createdAt)
        json.field("expiresAt", key.expiresAt)
        json.field("revokedAt", key.revokedAt)
    }
}

extension APIKey {
    /// Whether the key is revoked, or expired at a time in milliseconds since 1970.
    fileprivate func hasEnded(at now: Int64) -> Bool {
        revokedAt != nil || expiresAt.map { $0 <= now } ?? false
    }
}
