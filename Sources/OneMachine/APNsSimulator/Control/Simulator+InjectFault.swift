internal import HTTP2
internal import Lifecycle

extension Simulator {
    /// Injects a fault into one connection, or into all without a number, at the highest stream that each has
    /// seen. Returns the number of affected connections.
    @discardableResult
    func inject(_ fault: InjectedFault.ConnectionFault, onConnection number: Int? = nil) -> Int {
        loop.preconditionOnLoop()
        let met = connections.values.filter { number == nil || $0.number == number }
        for connection in met { connection.apply(fault, at: connection.session.lastStream) }
        return met.count
    }
}
