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

    static let document = #"""
        {
          "openapi":"3.1.0",
          "info":{
            "title":"Flotilla",
            "version":"1",
            "description":"Starts, updates and ends iOS Live Activities. Bodies are strict: unknown fields, duplicate fields and bodies beyond a limit are refused. A member that is null counts as omitted. Names have at most 200 bytes of UTF-8 and no control characters. Every answer has X-Request-Id; 429 and 503 have Retry-After; 2xx and 429 of calls with a key have RateLimit and RateLimit-Policy. Errors are {error, problems}, and lists are {items, next}."
          },
          "paths":{\#(paths)},
          "components":{
            "securitySchemes":\#(securitySchemes),
            "parameters":\#(parameters),
            "headers":\#(headers),
            "responses":\#(responses),
            "schemas":{\#(schemas)}
          }
        }
        """#

    private static let paths = [
        sendPaths, insightPaths, schedulePaths, netmeraPaths, catalogPaths, accessPaths, webhookPaths,
        deadLetterPaths, otherPaths,
    ].joined(separator: ",")

    private static let schemas = [
        values, sendSchemas, insightSchemas, scheduleSchemas, netmeraSchemas, catalogSchemas, accessSchemas,
        webhookSchemas, deadLetterSchemas, sessionSchemas, reportSchemas,
    ].joined(separator: ",")

    // MARK: Members of a call

    /// Returns the members of `responses` for the refusals that any call with a key can get.
    ///
    /// - Parameters:
    ///   - body: Whether the call has a body.
    ///   - missing: Whether the call names an object that may not exist.
    ///   - conflict: Whether the call can contradict an earlier one.
    static func refusals(body: Bool = false, missing: Bool = false, conflict: Bool = false) -> String {
        var references: [(status: String, response: String)] = [
            ("400", "badRequest"), ("401", "unauthorized"), ("403", "forbidden"), ("408", "limit"),
            ("413", "limit"), ("414", "limit"), ("415", "limit"), ("422", "refused"), ("429", "tooMany"),
            ("431", "limit"), ("503", "unavailable"),
        ]
        if !body { references.removeAll { $0.status == "415" } }
        if missing { references.append(("404", "notFound")) }
        if conflict { references.append(("409", "conflict")) }
        let members = references.map {
            ##""\##($0.status)":{"$ref":"#/components/responses/\##($0.response)"}"##
        }
        return members.joined(separator: ",")
    }

    /// Returns the member `requestBody`. The schema is a name in `components.schemas`.
    static func body(schema: String, example: String? = nil) -> String {
        let exampleMember = example.map { #","example":"# + $0 } ?? ""
        return
            ##"""
            "requestBody":{
              "required":true,
              "content":{
                "application/json":{"schema":{"$ref":"#/components/schemas/\##(schema)"}\##(exampleMember)}
              }
            }
            """##
    }

    /// Returns a member of `responses`, such as `"202":{…}`.
    ///
    /// - Parameters:
    ///   - schema: The name of the body's schema in `components.schemas`.
    ///   - files: The media types in which the caller may request a file instead of JSON.
    static func response(
        _ status: Int, schema: String, meaning description: String, files: [String] = []
    ) -> String {
        let fileTypes = files.map { ##","\##($0)":{"schema":{"type":"string"}}"## }.joined()
        return
            ##"""
            "\##(status)":{
              "description":"\##(description)",
              "headers":{
                "X-Request-Id":{"$ref":"#/components/headers/requestId"},
                "RateLimit-Policy":{"$ref":"#/components/headers/rateLimitPolicy"},
                "RateLimit":{"$ref":"#/components/headers/rateLimit"}
              },
              "content":{
                "application/json":{"schema":{"$ref":"#/components/schemas/\##(schema)"}}\##(fileTypes)
              }
            }
            """##
    }
}
