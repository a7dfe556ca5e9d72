package import HTTPServer

/// `/console`: files that anybody may have. What they show comes from calls that ask who is there.
package enum ConsolePages {
    package static let path = "/console"

    /// A browser runs and loads nothing but what this server sends, writes no markup that a script has put
    /// together, and shows the console in nobody else's page.
    static let policy = [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", "connect-src 'self'",
        "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
        "require-trusted-types-for 'script'", "trusted-types 'none'",
    ].joined(separator: "; ")

    package static func add(to routes: inout HTTPRoutes) {
        routes.on(.get, path) { answer(ConsoleFile.index, to: $0) }
        routes.on(.get, path + "/{file}") { answer($0.parameters["file"] ?? "", to: $0) }
    }

    static func answer(_ name: String, to request: HTTPRequest) -> HTTPResponse {
        guard let file = ConsoleFile.all[name] else {
            return .error(404, "file_unknown", message: "the console has no such file; it begins at \(path)")
        }
        var headers: HTTPHeaders = [
            "ETag": file.tag,
            // Kept, and asked for again each time: after an update no old part runs beside new ones.
            "Cache-Control": "no-cache",
            "Content-Security-Policy": policy,
            "X-Content-Type-Options": "nosniff",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Cross-Origin-Resource-Policy": "same-origin",
        ]
        if request.headers["if-none-match"] == file.tag { return HTTPResponse(status: 304, headers: headers) }
        headers.add("Content-Type", file.contentType)
        return HTTPResponse(headers: headers, body: file.bytes)
    }
}
