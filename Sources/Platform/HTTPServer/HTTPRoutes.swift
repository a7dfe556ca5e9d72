/// The handlers of a server, found by method and path. In a pattern such as `/v1/sends/{id}`, `{id}` matches
/// any one segment that is not empty. A literal segment takes precedence.
package struct HTTPRoutes: Sendable {
    /// A handler that runs on the server's thread. It must not block.
    package typealias ImmediateHandler = @Sendable (HTTPRequest) -> HTTPResponse
    /// A handler that runs on the server's thread and returns at once. It sends the reply later, from any
    /// thread.
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
        /// The method and the pattern of the path, such as `GET /v1/sends/{id}`.
        let pattern: String
        let handler: Handler
        /// Nil means `HTTPLimits.bodyBytesMax`.
        let bodyBytesMax: Int?
    }

    enum RouteMatch {
        case found(Route, parameters: [String: String])
        case methodNotAllowed([HTTPMethod])
        case notFound
    }

    /// A node of the tree of all patterns. The path from the root to a node is a pattern's segments so far.
    private struct PathNode: Sendable {
        /// The index of the next node for each literal segment.
        var literalChildren: [String: Int] = [:]
        /// The index of the next node for a parameter.
        var parameterChild: Int?
        /// The routes whose pattern ends here, with the names of their parameters.
        var methods: [HTTPMethod: (route: Route, names: [String])] = [:]
    }

    /// The root is the first.
    private var nodes = [PathNode()]
    /// All patterns, such as `GET /livez`, in the order in which they were added.
    package private(set) var patterns: [String] = []

    package init() {}

    /// Adds a handler that answers without waiting.
    package mutating func on(
        _ method: HTTPMethod, path pattern: String, bodyBytesMax: Int? = nil,
        respond: @escaping ImmediateHandler
    ) {
        add(method, path: pattern, handler: .immediate(respond), bodyBytesMax: bodyBytesMax)
    }

    /// Adds a handler that waits, such as for Kafka's acknowledgement of a record.
    package mutating func onDeferred(
        _ method: HTTPMethod, path pattern: String, bodyBytesMax: Int? = nil,
        handle: @escaping DeferredHandler
    ) {
        add(method, path: pattern, handler: .deferred(handle), bodyBytesMax: bodyBytesMax)
    }

    /// Adds a handler that decides from the head. It can refuse a request before its body uses memory.
    package mutating func onAdmission(
        _ method: HTTPMethod, path pattern: String, bodyBytesMax: Int? = nil,
        admit: @escaping AdmissionHandler
    ) {
        add(method, path: pattern, handler: .admission(admit), bodyBytesMax: bodyBytesMax)
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

    private mutating func add(
        _ method: HTTPMethod, path pattern: String, handler: Handler, bodyBytesMax: Int?
    ) {
        precondition(pattern.hasPrefix("/"), "a pattern begins with /: \(pattern)")
        let route = Route(
            pattern: "\(method.rawValue) \(pattern)", handler: handler, bodyBytesMax: bodyBytesMax)
        patterns.append(route.pattern)
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

    /// Returns the child for a literal segment, or for a parameter if `name` is nil. Adds it if it is
    /// missing.
    private mutating func child(of node: Int, named name: String?) -> Int {
        let existingChild =
            if let name { nodes[node].literalChildren[name] } else { nodes[node].parameterChild }
        if let existingChild { return existingChild }
        nodes.append(PathNode())
        if let name {
            nodes[node].literalChildren[name] = nodes.count - 1
        } else {
            nodes[node].parameterChild = nodes.count - 1
        }
        return nodes.count - 1
    }

    /// Returns the route of a request. The handler of `GET` also answers `HEAD`, and the server omits the
    /// body.
    func match(_ method: HTTPMethod, segments: [String]) -> RouteMatch {
        var values: [String] = []
        guard let node = find(segments[...], from: 0, values: &values) else { return .notFound }
        let methods = nodes[node].methods
        if let (route, names) = methods[method] ?? (method == .head ? methods[.get] : nil) {
            return .found(route, parameters: Dictionary(zip(names, values), uniquingKeysWith: { $1 }))
        }
        return .methodNotAllowed(methods.keys.sorted { $0.rawValue < $1.rawValue })
    }

    /// Returns the node of the first pattern that matches. `values` receives the segments that match
    /// parameters.
    private func find(_ segments: ArraySlice<String>, from node: Int, values: inout [String]) -> Int? {
        guard let first = segments.first else { return nodes[node].methods.isEmpty ? nil : node }
        if let child = nodes[node].literalChildren[first],
            let match = find(segments.dropFirst(), from: child, values: &values)
        {
            return match
        }
        guard let child = nodes[node].parameterChild, !first.isEmpty else { return nil }
        values.append(first)
        if let match = find(segments.dropFirst(), from: child, values: &values) { return match }
        values.removeLast()
        return nil
    }
}
