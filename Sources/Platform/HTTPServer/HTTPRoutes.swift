/// The handlers by method and path. A pattern's `{name}` matches one segment. A literal segment takes
/// precedence over a `{name}`.
package struct HTTPRoutes: Sendable {
    /// A handler that runs on the server's thread. It must not block.
    package typealias ImmediateHandler = @Sendable (HTTPRequest) -> HTTPResponse
    /// A handler that returns at once. The reply is sent later, from any thread.
    package typealias DeferredHandler = @Sendable (HTTPRequest, HTTPReply) -> Void

    /// A handler that runs on the server's thread when the head has arrived, before any byte of the body is
    /// read. It must not block.
    package typealias AdmissionHandler = @Sendable (HTTPRequest) -> HTTPAdmission

    enum Handler: Sendable {
        case immediate(ImmediateHandler)
        case deferred(DeferredHandler)
        case admission(AdmissionHandler)
    }

    struct Route: Sendable {
        let handler: Handler
        let bodyBytesMax: Int?
    }

    enum RouteMatch {
        case found(Route, parameters: [String: String])
        case methodNotAllowed([HTTPMethod])
        case notFound
    }

    private struct PathNode: Sendable {
        var literalChildren: [String: Int] = [:]
        var parameterChild: Int?
        var methods: [HTTPMethod: (route: Route, names: [String])] = [:]
    }

    private var nodes = [PathNode()]
    /// All patterns, such as `GET /livez`, in the order in which they were added.
    package private(set) var patterns: [String] = []

    package init() {}

    /// Adds a handler that answers without waiting.
    package mutating func on(
        _ method: HTTPMethod, path pattern: String, bodyBytesMax: Int? = nil,
        respond: @escaping ImmediateHandler
    ) {
        add(method, path: pattern, route: Route(handler: .immediate(respond), bodyBytesMax: bodyBytesMax))
    }

    /// Adds a handler that waits, such as for Kafka's acknowledgement of a record.
    package mutating func onDeferred(
        _ method: HTTPMethod, path pattern: String, bodyBytesMax: Int? = nil,
        handle: @escaping DeferredHandler
    ) {
        add(method, path: pattern, route: Route(handler: .deferred(handle), bodyBytesMax: bodyBytesMax))
    }

    /// Adds a handler that decides from the head. It can refuse a request before its body uses memory.
    package mutating func onAdmission(
        _ method: HTTPMethod, path pattern: String, bodyBytesMax: Int? = nil,
        admit: @escaping AdmissionHandler
    ) {
        add(method, path: pattern, route: Route(handler: .admission(admit), bodyBytesMax: bodyBytesMax))
    }

    /// Adds an async handler, for rare calls of people. Each call needs a task.
    package mutating func onAsync(
        _ method: HTTPMethod, path pattern: String, bodyBytesMax: Int? = nil,
        respond: @escaping @Sendable (HTTPRequest) async -> HTTPResponse
    ) {
        onDeferred(method, path: pattern, bodyBytesMax: bodyBytesMax) { request, reply in
            Task { reply.send(await respond(request)) }
        }
    }

    private mutating func add(_ method: HTTPMethod, path pattern: String, route: Route) {
        precondition(pattern.hasPrefix("/"), "a pattern begins with /: \(pattern)")
        patterns.append("\(method.rawValue) \(pattern)")
        var node = 0
        var names: [String] = []
        for segment in pattern.dropFirst().split(separator: "/", omittingEmptySubsequences: false) {
            if segment.hasPrefix("{") && segment.hasSuffix("}") {
                names.append(String(segment.dropFirst().dropLast()))
                node = child(of: node, named: nil)
            } else {
                node = child(of: node, named: String(segment))
            }
        }
        precondition(nodes[node].methods[method] == nil, "\(method.rawValue) \(pattern) has two handlers")
        nodes[node].methods[method] = (route, names)
    }

    private mutating func child(of node: Int, named name: String?) -> Int {
        if let known = name.map({ nodes[node].literalChildren[$0] }) ?? nodes[node].parameterChild {
            return known
        }
        nodes.append(PathNode())
        if let name {
            nodes[node].literalChildren[name] = nodes.count - 1
        } else {
            nodes[node].parameterChild = nodes.count - 1
        }
        return nodes.count - 1
    }

    /// Returns the route. The handler of `GET` also answers `HEAD`, and the server omits the body.
    func match(_ method: HTTPMethod, segments: [String]) -> RouteMatch {
        var values: [String] = []
        guard let node = find(segments[...], from: 0, values: &values) else { return .notFound }
        let methods = nodes[node].methods
        if let (route, names) = methods[method] ?? (method == .head ? methods[.get] : nil) {
            return .found(route, parameters: Dictionary(zip(names, values), uniquingKeysWith: { $1 }))
        }
        return .methodNotAllowed(methods.keys.sorted { $0.rawValue < $1.rawValue })
    }

    private func find(_ segments: ArraySlice<String>, from node: Int, values: inout [String]) -> Int? {
        guard let first = segments.first else { return nodes[node].methods.isEmpty ? nil : node }
        if let next = nodes[node].literalChildren[first],
            let found = find(segments.dropFirst(), from: next, values: &values)
        {
            return found
        }
        guard let next = nodes[node].parameterChild, !first.isEmpty else { return nil }
        values.append(first)
        if let found = find(segments.dropFirst(), from: next, values: &values) { return found }
        values.removeLast()
        return nil
    }
}
