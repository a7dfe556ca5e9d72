import Testing

@testable import HTTPServer

/// The path and the query of a request, and the route that they select.
struct HTTPTargetTests {
    @Test(arguments: [
        ("/", [""]), ("/a", ["a"]), ("/a/b", ["a", "b"]), ("/a/", ["a", ""]), ("//a", ["", "a"]),
        ("/%61", ["a"]), ("/a%2Fb", ["a/b"]), ("/a+b", ["a+b"]), ("/%C3%A9", ["é"]), ("/a%20b", ["a b"]),
        ("/...", ["..."]), ("/a;b=c", ["a;b=c"]), ("/%252e%252e", ["%2e%2e"]),
    ])
    func `a path is split and decoded`(text: String, segments: [String]) throws {
        #expect(try HTTPTarget(parsing: Array(text.utf8)).segments == segments)
    }

    @Test(arguments: [
        "", "a", "*", "http://x/", "/..", "/.", "/a/../b", "/%2e%2e/b", "/%2E.", "/.%2e", "/%", "/%4", "/%zz",
        "/%4g", "/a%", "/%00", "/%0d%0a", "/%7f", "/%C3", "/%c0%ae", "/%ed%a0%80", "/a b", "/a\\b", "/a#b",
        "/a\"b", "/<a>", "/é", "/a{b}", "/a|b", "/a^b", "/a`b", "/?a=%", "/?%=a", "/?a=%00",
    ])
    func `an ambiguous target is refused`(_ text: String) {
        #expect(throws: HTTPRefusal.self) { try HTTPTarget(parsing: Array(text.utf8)) }
    }

    @Test func `a query is split and decoded`() throws {
        let target = try HTTPTarget(parsing: Array("/a?b=1&c&d=x+y%2B&=e&&b=2?f".utf8))
        #expect(target.path == "/a")
        #expect(target.query.map { "\($0.name)=\($0.value)" } == ["b=1", "c=", "d=x y+", "=e", "b=2?f"])
    }

    @Test func `a literal segment takes precedence, and the match backtracks from a dead end`() {
        var routes = HTTPRoutes()
        routes.on(.get, path: "/a/b") { _ in .text("written") }
        routes.on(.get, path: "/a/{x}") { _ in .text("any") }
        routes.on(.get, path: "/{y}/b/c") { _ in .text("deep") }
        func parameters(of segments: [String]) -> [String: String]? {
            if case .found(_, let parameters) = routes.match(.get, segments: segments) {
                parameters
            } else {
                nil
            }
        }
        #expect(parameters(of: ["a", "b"]) == [:])
        #expect(parameters(of: ["a", "z"]) == ["x": "z"])
        #expect(parameters(of: ["a", "b", "c"]) == ["y": "a"])
        #expect(
            parameters(of: ["a", ""]) == nil && parameters(of: ["a"]) == nil && parameters(of: []) == nil)
    }
}
