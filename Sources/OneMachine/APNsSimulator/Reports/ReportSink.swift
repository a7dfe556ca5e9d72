package import InstallationRecords

/// The receiver of the phones' reports, for example a server's API or a topic. Confined to the simulator's
/// event loop.
package protocol ReportSink: AnyObject {
    /// Number of reports that the sink can take now. Further reports wait in the phones.
    var freeCapacity: Int { get }

    /// Takes at most `freeCapacity` reports. The sink is responsible for their delivery.
    func accept(_ reports: [Report])

    /// Stops. Waiting reports are dropped.
    func stop()

    var counts: ReportCounts { get }
    /// The last problem, for an operator.
    var lastProblem: String? { get }
}

/// Counts of the reports that a sink has taken.
package struct ReportCounts: Sendable, Hashable {
    /// Reports that the receiver has accepted.
    package var accepted = 0
    /// Dropped reports: refused permanently, or no longer sent.
    package var refused = 0
    /// Number of times that the sink sent reports again.
    package var retries = 0

    package init(accepted: Int = 0, refused: Int = 0, retries: Int = 0) {
        (self.accepted, self.refused, self.retries) = (accepted, refused, retries)
    }
}
