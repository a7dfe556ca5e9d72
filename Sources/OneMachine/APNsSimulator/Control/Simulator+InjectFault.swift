internal import HTTP2
internal import Lifecycle

extension Simulator {
    /// Injects a fault into the connection with this number, or into all connections if it is nil. A GOAWAY counts
    /// back from the newest stream of each connection. Returns the number of affected connections. Call on the loop.
    @discardableResult
    func inject(_ fault: InjectedFault.ConnectionFault, onConnection number: Int? = nil) -> Int {
        loop.preconditionOnLoop()
        let affected = connections.values.filter { number == nil || $0.number == number }
        for connection in affected { connection.apply(fault, at: connection.session.lastStream) }
        return affected.count
    }
}
