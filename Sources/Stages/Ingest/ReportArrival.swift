internal import InstallationRecords

/// The time and the offset at which a report first entered `reports`. Forwarding the record keeps both.
package struct ReportArrival: Sendable, Hashable {
    /// The stamp of the record, in milliseconds since 1970.
    package var receivedAt: Int64
    package var offset: Int64

    package init(receivedAt: Int64, offset: Int64) {
        self.receivedAt = receivedAt
        self.offset = offset
    }

    /// Returns the time by which the report is ordered.
    func reportTime(of report: Report) -> ReportTime {
        ReportTime(
            claimed: report.eventTime, received: receivedAt,
            order: ReportOrder(bodyPosition: report.bodyPosition, offset: offset))
    }
}
