/// The handlers by method and path. A pattern's `{name}` matches one segment. A literal segment takes
/// precedence over a `{name}`.
package struct HTTPRoutes: Sendable {
    /// A handler that runs on the server's thread. It must not block.
    package typealias Respond = @Sendable (HTTPRequest) -> HTTPResponse
    /// A handler that returns at once. The reply is sent later, from any thread.
    package typealias Defer = @Sendable (HTTPRequest, HTTPReply) -> Void

    /// A handler that runs on the server's thread when the head has arrived, before any byte of the body is
    /// read. It must not block.
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
    /// All patterns, such as `GET /livez`, in the order in which they were added.
    package private(set) var patterns: [String] = []

    package init() {}

    /// Adds a handler that answers without waiting.
    package mutating func on(
        _ method: HTTPMethod, _ pattern: String, bodyBytesMax: Int? = nil, respond: @escaping Respond
    ) {
        add(method, pattern, route: Route(handler: .immediate(respond), bodyBytesMax: bodyBytesMax))
    }

    /// Adds a handler that waits, such as for Kafka's acknowledgement of a record.
    package mutating func onDeferred(
        _ method: HTTPMethod, _ pattern: String, bodyBytesMax: Int? = nil, handle: @escaping Defer
    ) {
        add(method, pattern, route: Route(handler: .deferred(handle), bodyBytesMax: bodyBytesMax))
    }

    /// Adds a handler that decides from the head. It can refuse a request before its body uses memory.
    package mutating func onJudged(
        _ method: HTTPMethod, _ pattern: String, bodyBytesMax: Int? = nil, judge: @escaping Judge
    ) {
        add(method, pattern, route: Route(handler: .judged(judge), bodyBytesMax: bodyBytesMax))
    }

    /// Adds an async handler, for rare calls of people. Each call needs a task.
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
        precondition(nodes[node].methods[method] == nil, "\(method.rawValue) \(pattern) has two handlers")
        nodes[node].methods[method] = (route, names)
    }

    private mutating func child(of node: Int, _ name: String?) -> Int {
        if let known = name.map({ nodes[node].named[$0] }) ?? nodes[node].any { return known }
        nodes.append(Node())
        if let name { nodes[node].named[name] = nodes.count - 1 } else { nodes[node].any = nodes.count - 1 }
        return nodes.count - 1
    }

    /// Returns the route. The handler of `GET` also answers `HEAD`, and the server omits the body.
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
