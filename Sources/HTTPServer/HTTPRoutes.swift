/// Which handler answers which method and path. A pattern's `{name}` matches one segment; a segment
/// written out goes before one that matches all.
package struct HTTPRoutes: Sendable {
    /// Runs on the server's thread and must not block.
    package typealias Respond = @Sendable (HTTPRequest) -> HTTPResponse
    /// Returns at once; the reply is sent later, from any thread.
    package typealias Defer = @Sendable (HTTPRequest, HTTPReply) -> Void

    /// Runs on the server's thread when the head of a request is there, before a byte of its body is
    /// taken, and must not block.
    package typealias Judge = @Sendable (HTTPRequest) -> HTTPAdmission

    enum Handler: Sendable {
        case immediate(Respond)
        case deferred(Defer)
        case judged(Judge)
    }

    struct Route: Sendable {
        let handler: Handler
        let bodyBytesMax: Int?
    }

    enum Match {
        case found(Route, parameters: [String: String])
        case otherMethods([HTTPMethod])
        case nothing
    }

    private struct Node: Sendable {
        var named: [String: Int] = [:]
        var any: Int?
        var methods: [HTTPMethod: (route: Route, names: [String])] = [:]
    }

    private var nodes = [Node()]
    /// All of them, as `GET /livez`, in the order in which they were added.
    package private(set) var patterns: [String] = []

    package init() {}

    /// A handler that knows the answer without waiting.
    package mutating func on(
        _ method: HTTPMethod, _ pattern: String, bodyBytesMax: Int? = nil, respond: @escaping Respond
    ) {
        add(method, pattern, route: Route(handler: .immediate(respond), bodyBytesMax: bodyBytesMax))
    }

    /// A handler that waits for something, such as a record to be acknowledged.
    package mutating func onDeferred(
        _ method: HTTPMethod, _ pattern: String, bodyBytesMax: Int? = nil, handle: @escaping Defer
    ) {
        add(method, pattern, route: Route(handler: .deferred(handle), bodyBytesMax: bodyBytesMax))
    }

    /// A handler that looks at the head first and may refuse a request before its body costs anything.
    package mutating func onJudged(
        _ method: HTTPMethod, _ pattern: String, bodyBytesMax: Int? = nil, judge: @escaping Judge
    ) {
        add(method, pattern, route: Route(handler: .judged(judge), bodyBytesMax: bodyBytesMax))
    }

    /// A handler that is an async function, for calls that people make; each costs a task.
    package mutating func onAsync(
        _ method: HTTPMethod, _ pattern: String, bodyBytesMax: Int? = nil,
        respond: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
    ) {
        onDeferred(method, pattern, bodyBytesMax: bodyBytesMax) { request, reply in
            Task { reply.send(await respond(request)) }
        }
    }

    private mutating func add(_ method: HTTPMethod, _ pattern: String, route: Route) {
        precondition(pattern.hasPrefix("/"), "a pattern begins with /: \(pattern)")
        patterns.append("\(method.rawValue) \(pattern)")
        var node = 0
        var names: [String] = []
        for segment in pattern.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            if segment.hasPrefix("{") && segment.hasSuffix("}") {
                names.append(String(segment.dropFirst().dropLast()))
                node = child(of: node, nil)
            } else {
                node = child(of: node, String(segment))
            }
        }
        precondition(nodes[node].methods[method] == nil, "two handlers for \(method.rawValue) \(pattern)")
        nodes[node].methods[method] = (route, names)
    }

    private mutating func child(of node: Int, _ name: String?) -> Int {
        if let known = name.map({ nodes[node].named[$0] }) ?? nodes[node].any { return known }
        nodes.append(Node())
        if let name { nodes[node].named[name] = nodes.count - 1 } else { nodes[node].any = nodes.count - 1 }
        return nodes.count - 1
    }

    /// `HEAD` is answered by the handler of `GET`; the server leaves the body out.
    func match(_ method: HTTPMethod, _ segments: [String]) -> Match {
        var values: [String] = []
        guard let node = find(segments[...], from: 0, &values) else { return .nothing }
        let methods = nodes[node].methods
        if let (route, names) = methods[method] ?? (method == .head ? methods[.get] : nil) {
            return .found(route, parameters: Dictionary(zip(names, values), uniquingKeysWith: { $1 }))
        }
        return .otherMethods(methods.keys.sorted { $0.rawValue < $1.rawValue })
    }

    private func find(_ segments: ArraySlice<String>, from node: Int, _ values: inout [String]) -> Int? {
        guard let first = segments.first else { return nodes[node].methods.isEmpty ? nil : node }
        if let next = nodes[node].named[first], let found = find(segments.dropFirst(), from: next, &values) {
            return found
        }
        guard let next = nodes[node].any, !first.isEmpty else { return nil }
        values.append(first)
        if let found = find(segments.dropFirst(), from: next, &values) { return found }
        values.removeLast()
        return nil
    }
}
