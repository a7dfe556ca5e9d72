internal import HTTPServer

/// `/v1/openapi.json`: the gateway's interface as an OpenAPI document, for people and for programs. It is
/// written by hand, because code decides which bodies are valid. Tests compare the document with the code,
/// route by route and field by field.
///
/// Each `…Paths` is a list of members of `paths`, and each `…Schemas` a list of members of `components.schemas`.
enum OpenAPI {
    static func add(to routes: inout HTTPRoutes) {
        let response = HTTPResponse.json(Array(document.utf8))
        routes.on(.get, path: "/v1/openapi.json") { _ in response }
    }

    static let document =
        head + #","paths":{"#
        + [
            sendPaths, insightPaths, schedulePaths, netmeraPaths, catalogPaths, deadLetterPaths, otherPaths,
        ].joined(separator: ",")
        + #"},"components":{"securitySchemes":"# + securitySchemes + #","parameters":"# + parameters
        + #","responses":"# + responses + #","schemas":{"#
        + [
            values, sendSchemas, insightSchemas, scheduleSchemas, netmeraSchemas, catalogSchemas,
            deadLetterSchemas, sessionSchemas, reportSchemas,
        ].joined(separator: ",") + "}}}"

    private static let head = #"""
        {"openapi":"3.1.0","info":{"title":"Flotilla","version":"1","description":"Starts, updates and ends iOS Live Activities. Bodies are strict: unknown fields, duplicate fields and bodies beyond a limit are refused. A member that is null counts as omitted. Names have at most 200 bytes of UTF-8 and no control characters."}
        """#

    private static let securitySchemes = #"""
        {"bearer":{"type":"http","scheme":"bearer","description":"A key from `flotilla keys create`. Its role grants calls: report, read, send (includes report and read), admin (all)."},
        "netmera":{"type":"apiKey","in":"header","name":"X-netmera-api-key"}}
        """#

    private static let parameters = #"""
        {"idempotencyKey":{"name":"Idempotency-Key","in":"header","required":false,"description":"Marks a repetition: a second request with the same key within 24 hours gets the same sendId and is not carried out again. The same key with another body gets the verdict `conflict` in GET /v1/sends/{id}.","schema":{"type":"string","minLength":1,"maxLength":128,"pattern":"^[!-~]+$"}},
        "sendId":{"name":"id","in":"path","required":true,"description":"The sendId from POST /v1/sends.","schema":{"type":"string","pattern":"^(r-[0-9]{1,16}-[0-9]{1,3}-[0-9a-f]{24}|k-[0-9]{1,3}-[0-9a-f]{32}|t-[0-9]{1,16}-[0-9]{1,3}-[0-9]{1,3}-[0-9a-f]{24}|d-[0-9]{1,3}-[0-9]{1,3}-[0-9a-f]{32})$"}},
        "at":{"name":"at","in":"query","required":false,"description":"The acceptedAt of the answer. The search for a send with an idempotency key starts there, because its id has no time.","schema":{"type":"integer","minimum":0,"maximum":9007199254740992}},
        "name":{"name":"name","in":"path","required":true,"schema":{"$ref":"#/components/schemas/name"}},
        "user":{"name":"id","in":"path","required":true,"schema":{"$ref":"#/components/schemas/name"}},
        "scheduleUser":{"name":"user","in":"query","required":false,"description":"The user who owns the schedules. A key with the role report must use it.","schema":{"$ref":"#/components/schemas/name"}},
        "scheduleGroup":{"name":"group","in":"query","required":false,"description":"The group that owns the sends for later, if they do not belong to one user.","schema":{"$ref":"#/components/schemas/name"}},
        "scheduleActivity":{"name":"activity","in":"query","required":false,"description":"The activity name in the schedules. Selects all waiting schedules of the activity.","schema":{"$ref":"#/components/schemas/name"}},
        "scheduleId":{"name":"id","in":"query","required":false,"description":"Selects one schedule, instead of an activity.","schema":{"$ref":"#/components/schemas/name"}},
        "userProof":{"name":"User-Proof","in":"header","required":false,"description":"The hex HMAC-SHA256 of the user id. Used with a key of the role report, if the app requires it.","schema":{"type":"string"}}}
        """#

    private static let responses = #"""
        {"badRequest":{"description":"The request is not valid HTTP, or the body is not unambiguous JSON.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}},
        "unauthorized":{"description":"The key is missing or not valid.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}},
        "forbidden":{"description":"The key's role does not allow this call, or the key's app was deleted.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}},
        "notFound":{"description":"The key's app has no such object.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}},
        "conflict":{"description":"The catalog does not allow the change now, or the Idempotency-Key was used with another body.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}},
        "limit":{"description":"The request exceeds a limit, which the message names.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}},
        "refused":{"description":"All problems of the request, each with field, rule and remedy. Nothing was stored.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}},
        "tooMany":{"description":"The request exceeds a rate limit.","headers":{"Retry-After":{"schema":{"type":"integer"}}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}},
        "unavailable":{"description":"The service is unavailable, or it is unknown whether the request was stored. Send it again.","headers":{"Retry-After":{"schema":{"type":"integer"}}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}}}
        """#

    /// Returns the refusals that any call with a key can get.
    ///
    /// - Parameters:
    ///   - body: Whether the call has a body.
    ///   - missing: Whether the call names an object that may not exist.
    ///   - conflict: Whether the call can contradict an earlier one.
    static func refusals(body: Bool = false, missing: Bool = false, conflict: Bool = false) -> String {
        var references = [
            ("400", "badRequest"), ("401", "unauthorized"), ("403", "forbidden"), ("408", "limit"),
            ("413", "limit"), ("414", "limit"), ("415", "limit"), ("422", "refused"), ("429", "tooMany"),
            ("431", "limit"), ("503", "unavailable"),
        ]
        if !body { references.removeAll { $0.0 == "415" } }
        if missing { references.append(("404", "notFound")) }
        if conflict { references.append(("409", "conflict")) }
        return references.map { ##""\##($0.0)":{"$ref":"#/components/responses/\##($0.1)"}"## }.joined(
            separator: ",")
    }

    static func body(schema: String, example: String? = nil) -> String {
        let exampleMember = example.map { #","example":"# + $0 } ?? ""
        return
            ##""requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/\##(schema)"}\##(exampleMember)}}}"##
    }

    /// - Parameter files: The media types in which the caller may request a file instead of JSON.
    static func response(
        _ status: Int, schema: String, meaning description: String, files: [String] = []
    ) -> String {
        let fileTypes = files.map { ##","\##($0)":{"schema":{"type":"string"}}"## }.joined()
        return
            ##""\##(status)":{"description":"\##(description)","content":{"application/json":{"schema":{"$ref":"#/components/schemas/\##(schema)"}}\##(fileTypes)}}"##
    }
}
