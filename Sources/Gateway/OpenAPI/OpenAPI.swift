internal import HTTPServer

/// `/v1/openapi.json`: what this gateway answers, for people and for programs. It is written by hand, as what a
/// body may hold is decided by code; tests hold the two together, route by route and field by field.
enum OpenAPI {
    static func add(to routes: inout HTTPRoutes) {
        let response = HTTPResponse.json(Array(document.utf8))
        routes.on(.get, "/v1/openapi.json") { _ in response }
    }

    static let document =
        head + #","paths":{"#
        + [
            sendPaths, insightPaths, schedulePaths, netmeraPaths, catalogPaths, letterPaths, otherPaths,
        ].joined(separator: ",")
        + #"},"components":{"securitySchemes":"# + keys + #","parameters":"# + parameters
        + #","responses":"# + responses + #","schemas":{"#
        + [
            values, sendSchemas, insightSchemas, scheduleSchemas, netmeraSchemas, catalogSchemas,
            letterSchemas,
            sessionSchemas,
            reportSchemas,
        ].joined(
            separator: ",") + "}}}"

    private static let head = #"""
        {"openapi":"3.1.0","info":{"title":"Flotilla","version":"1","description":"Starts, updates and ends iOS Live Activities. Bodies are strict: unknown fields, fields twice and bodies beyond a limit are refused; a member that is null counts as left out. Names have at most 200 bytes of UTF-8 and no control characters."}
        """#

    private static let keys = #"""
        {"bearer":{"type":"http","scheme":"bearer","description":"A key that `flotilla keys create` has made. Its role says what it may do: report, read, send (and both), admin (all)."},
        "netmera":{"type":"apiKey","in":"header","name":"X-netmera-api-key"}}
        """#

    private static let parameters = #"""
        {"idempotencyKey":{"name":"Idempotency-Key","in":"header","required":false,"description":"Makes a second request with it within 24 hours the same as the first: it gets the same sendId and is not carried out again. The same key with another body gets the verdict `conflict` in GET /v1/sends/{id}.","schema":{"type":"string","minLength":1,"maxLength":128,"pattern":"^[!-~]+$"}},
        "sendId":{"name":"id","in":"path","required":true,"description":"As POST /v1/sends answered it.","schema":{"type":"string","pattern":"^(r-[0-9]{1,16}-[0-9]{1,3}-[0-9a-f]{24}|k-[0-9]{1,3}-[0-9a-f]{32}|t-[0-9]{1,16}-[0-9]{1,3}-[0-9]{1,3}-[0-9a-f]{24}|d-[0-9]{1,3}-[0-9]{1,3}-[0-9a-f]{32})$"}},
        "at":{"name":"at","in":"query","required":false,"description":"The acceptedAt of the answer, where the id does not say it: where a send with an idempotency key is looked for first.","schema":{"type":"integer","minimum":0,"maximum":9007199254740992}},
        "name":{"name":"name","in":"path","required":true,"schema":{"$ref":"#/components/schemas/name"}},
        "user":{"name":"id","in":"path","required":true,"schema":{"$ref":"#/components/schemas/name"}},
        "scheduleUser":{"name":"user","in":"query","required":false,"description":"Whose schedules are meant; with a key that phones have the only way to say it.","schema":{"$ref":"#/components/schemas/name"}},
        "scheduleGroup":{"name":"group","in":"query","required":false,"description":"The group whose sends for later are meant, where they are not one user's.","schema":{"$ref":"#/components/schemas/name"}},
        "scheduleActivity":{"name":"activity","in":"query","required":false,"description":"The activity as the schedules named it: all that wait for it.","schema":{"$ref":"#/components/schemas/name"}},
        "scheduleId":{"name":"id","in":"query","required":false,"description":"One schedule, in place of an activity.","schema":{"$ref":"#/components/schemas/name"}},
        "userProof":{"name":"User-Proof","in":"header","required":false,"description":"With a key of the role report, where the app requires it: the hex HMAC-SHA256 of the user id.","schema":{"type":"string"}}}
        """#

    private static let responses = #"""
        {"badRequest":{"description":"The request is not HTTP, or the body is no JSON that can be read in one way only.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}},
        "unauthorized":{"description":"No key, or none that lets in.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}},
        "forbidden":{"description":"The key's role may not do this, or its app is gone.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}},
        "notFound":{"description":"There is no such thing of the key's app.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}},
        "conflict":{"description":"The catalogue does not allow it now, or the Idempotency-Key came with another body.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}},
        "limit":{"description":"Beyond a limit, which the message names.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}},
        "refused":{"description":"What is wrong, all of it: field, rule, what to do. Nothing was stored.","content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}},
        "tooMany":{"description":"Over a rate.","headers":{"Retry-After":{"schema":{"type":"integer"}}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}},
        "unavailable":{"description":"Nothing can be stored or read now, or it is not known whether it was stored: send it again.","headers":{"Retry-After":{"schema":{"type":"integer"}}},"content":{"application/json":{"schema":{"$ref":"#/components/schemas/refusal"}}}}}
        """#

    /// The refusals that any call with a key can meet; with those of a body, or of what it names.
    static func refusals(body: Bool = false, missing: Bool = false, conflict: Bool = false) -> String {
        var list = [
            ("400", "badRequest"), ("401", "unauthorized"), ("403", "forbidden"), ("408", "limit"),
            ("413", "limit"), ("414", "limit"), ("415", "limit"), ("422", "refused"), ("429", "tooMany"),
            ("431", "limit"), ("503", "unavailable"),
        ]
        if !body { list.removeAll { $0.0 == "415" } }
        if missing { list.append(("404", "notFound")) }
        if conflict { list.append(("409", "conflict")) }
        return list.map { ##""\##($0.0)":{"$ref":"#/components/responses/\##($0.1)"}"## }.joined(
            separator: ",")
    }

    static func body(_ schema: String, example: String? = nil) -> String {
        let shown = example.map { #","example":"# + $0 } ?? ""
        return
            ##""requestBody":{"required":true,"content":{"application/json":{"schema":{"$ref":"#/components/schemas/\##(schema)"}\##(shown)}}}"##
    }

    /// - Parameter files: media types that it has instead where the caller asks for a file.
    static func answer(
        _ status: Int, _ schema: String, meaning description: String, files: [String] = []
    ) -> String {
        let others = files.map { ##","\##($0)":{"schema":{"type":"string"}}"## }.joined()
        return
            ##""\##(status)":{"description":"\##(description)","content":{"application/json":{"schema":{"$ref":"#/components/schemas/\##(schema)"}}\##(others)}}"##
    }
}
