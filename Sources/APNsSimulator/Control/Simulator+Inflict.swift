internal import HTTP2
internal import Lifecycle

extension Simulator {
    /// Does something to one connection, or without a number to all, at the highest stream that each has
    /// seen. Returns how many it met.
    @discardableResult
    func inflict(_ fault: Ruling.ConnectionFault, on number: Int? = nil) -> Int {
        loop.preconditionOnLoop()
        let met = connections.values.filter { number == nil || $0.number == number }
        for connection in met { connection.apply(fault, at: connection.session.lastStream) }
        return met.count
    }
}
