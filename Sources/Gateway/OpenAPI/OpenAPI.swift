internal import HTTPServer

/// `/v1/openapi.json`: what this gateway answers, for people and for programs.
enum OpenAPI {
    static func add(to routes: inout HTTPRoutes) {
        let response = HTTPResponse.json(Array(document.utf8))
        routes.on(.get, "/v1/openapi.json") { _ in response }
    }

    static let document = "{}"
}
