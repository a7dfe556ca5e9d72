package import LiveActivity

/// Where phones report to: a server's API, a topic. Confined to the simulator's event loop.
package protocol ReportSink: AnyObject {
    /// How many reports it takes now. What it does not take waits with the phones.
    var room: Int { get }

    /// At most as many as there is room for. Whether they arrive is the sink's business.
    func take(_ reports: [Report])

    /// Stops; what waits is dropped.
    func end()

    var counts: ReportCounts { get }
    /// What went wrong last, for a person.
    var trouble: String? { get }
}

/// What became of reports that a sink has taken.
package struct ReportCounts: Sendable, Hashable {
    package var taken = 0
    /// Refused by the other side, which will refuse them again, or not sent any more: dropped.
    package var refused = 0
    package var retries = 0

    package init(taken: Int = 0, refused: Int = 0, retries: Int = 0) {
        (self.taken, self.refused, self.retries) = (taken, refused, retries)
    }
}
