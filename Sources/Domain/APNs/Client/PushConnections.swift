/// The connections by which a push to a token leaves. Each kind has its own pool, because APNs slows down and closes
/// connections with many refusals. So tokens that it refuses do not slow down the others. The caller chooses.
package enum PushConnections: String, Sendable, Hashable, CaseIterable {
    /// For tokens that APNs probably accepts, and for broadcasts.
    case usual
    /// For tokens that APNs has never accepted. As many connections as the usual ones.
    case unproven
    /// For tokens that APNs refused last. A single connection.
    case suspect
}

/// A value for each kind of connections.
package struct ByConnections<Value> {
    private var usual: Value
    private var unproven: Value
    private var suspect: Value

    package init(each value: (PushConnections) -> Value) {
        (usual, unproven, suspect) = (value(.usual), value(.unproven), value(.suspect))
    }

    package init(repeating value: Value) { self.init(each: { _ in value }) }

    package subscript(connections: PushConnections) -> Value {
        @inline(__always) _read {
            switch connections {
            case .usual: yield usual
            case .unproven: yield unproven
            case .suspect: yield suspect
            }
        }
        @inline(__always) _modify {
            switch connections {
            case .usual: yield &usual
            case .unproven: yield &unproven
            case .suspect: yield &suspect
            }
        }
    }
}
