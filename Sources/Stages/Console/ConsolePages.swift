package import HTTPServer

/// The routes `/console` and `/console/{file}`: the console's pages and scripts. They hold no secrets, so they
/// need no session. They load their data with calls that check the session. `/` and `/console/` lead to the console.
package enum ConsolePages {
    package static let path = "/console"

    /// The value of `Content-Security-Policy`. The browser may run and load only files of this server. It creates no
    /// markup from text that a script has built, and no other site may frame the console.
    static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", "trusted-types 'none'",
    ].joined(separator: "; ")

    package static func add(to routes: inout HTTPRoutes) {
        routes.on(.get, path: path) { response(file: ConsoleFile.indexName, to: $0) }
        routes.on(.get, path: path + "/{file}") { response(file: $0.parameters["file"] ?? "", to: $0) }
        for otherPath in ["/", path + "/"] {
            routes.on(.get, path: otherPath) { _ in HTTPResponse(status: 302, headers: ["Location": path]) }
        }
    }

    static func response(file name: String, to request: HTTPRequest) -> HTTPResponse {
        guard let file = ConsoleFile.all[name] else {
            return .error(
                status: 404, code: "file_unknown", message: "the console has no such file; open \(path)")
        }
        var headers: HTTPHeaders = [
            "ETag": file.entityTag,
            // Browsers keep the file but revalidate it each time, so that files of two versions never mix
            // after an update.
            "Cache-Control": "no-cache",
            "Vary": "Accept-Encoding",
            "X-Content-Type-Options": "nosniff",
            "Cross-Origin-Resource-Policy": "same-origin",
        ]
        // Browsers use these headers only for documents. Without them, scripts and styles load faster.
        if file.isDocument {
            headers.add("Content-Security-Policy", value: policy)
            headers.add("Referrer-Policy", value: "no-referrer")
            headers.add("Cross-Origin-Opener-Policy", value: "same-origin")
        }
        if request.headers["if-none-match"] == file.entityTag {
            return HTTPResponse(status: 304, headers: headers)
        }
        headers.add("Content-Type", value: file.contentType)
        guard request.acceptsGzip, let compressed = file.compressedBytes else {
            return HTTPResponse(headers: headers, body: file.bytes)
        }
        headers.add("Content-Encoding", value: "gzip")
        return HTTPResponse(headers: headers, body: compressed)
    }
}
