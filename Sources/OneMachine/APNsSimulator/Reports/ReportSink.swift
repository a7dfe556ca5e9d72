package import LiveActivity

/// The receiver of the phones' reports, for example a server's API or a topic. Confined to the simulator's
/// event loop.
package protocol ReportSink: AnyObject {
    /// Number of reports that the sink can take now. The others wait in the phones.
    var room: Int { get }

    /// Takes at most `room` reports. The sink is responsible for their delivery.
    func take(_ reports: [Report])

    /// Stops. Waiting reports are dropped.
    func end()

    var counts: ReportCounts { get }
    /// The last problem, for an operator.
    var trouble: String? { get }
}

/// Counts of the reports that a sink has taken.
package struct ReportCounts: Sendable, Hashable {
    package var taken = 0
    /// Dropped reports: refused permanently, or no longer sent.
    package var refused = 0
    package var retries = 0

    package init(taken: Int = 0, refused: Int = 0, retries: Int = 0) {
        (self.taken, self.refused, self.retries) = (taken, refused, retries)
    }
}
