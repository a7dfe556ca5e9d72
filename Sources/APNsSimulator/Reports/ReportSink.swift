package import LiveActivity

/// Where phones report to: a server's API, a topic. Confined to the simulator's event loop.
package protocol ReportSink: AnyObject {
    /// How many reports it takes now. What it does not take waits with the phones.
    var room: Int { get }

    /// At most as many as there is room for. Whether they arrive is the sink's business.
    func take(_ reports: [Report])
}
