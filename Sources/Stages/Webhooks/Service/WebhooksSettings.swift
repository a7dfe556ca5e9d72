package import Settings

/// The settings of the stage. Each limit names the behavior at the limit.
package struct WebhooksSettings: OperatorSettings {
    /// The most endpoints that the installation serves. Further ones, the newest, are not called.
    package var endpointsMax = 32
    /// The most calls of one endpoint at one time in each process. Further events wait.
    package var callsMax = 8
    /// The most unfinished events of one endpoint in each process. At the limit its topics are not read.
    package var eventsMax = 256
    /// The time in which an endpoint must answer. Then the call has failed.
    package var callMilliseconds = EndpointClient.callMilliseconds
    /// Whether endpoints with plain HTTP are called.
    package var allowsHTTP = false
    /// The networks that are called although they are not public.
    package var allowedNetworks: [AddressRange] = []
    /// The path of a file with the certificates of the authorities that endpoints may have. Empty means the
    /// authorities that the machine trusts.
    package var authorities = ""
    /// The time after which the group gives up a silent process.
    package var sessionMilliseconds = 10_000
    /// The size of the records that are fetched ahead for one endpoint.
    static let prefetchKibibytes = 1024
    /// The most records of one batch.
    static let batchRecordsMax = 200
    /// The size at which a batch is full.
    static let batchBytesMax = 1 << 20

    package init() {}

    package static let declared = SettingsGroup(prefix: "webhooks", defaults: WebhooksSettings()) { declare in
        declare(
            "endpoints", sets: \.endpointsMax, in: 1...1000,
            "the most endpoints that are called; further ones, the newest, wait until another is deleted")
        declare(
            "calls", sets: \.callsMax, in: 1...64,
            "the most calls of one endpoint at one time in each process; further events wait")
        declare(
            "events", sets: \.eventsMax, in: 16...10_000,
            "the most unfinished events of one endpoint in each process; beyond it, reading for it pauses")
        declare(
            "call-limit", sets: \.callMilliseconds, as: Milliseconds.self, in: 100...60_000,
            "the time in which an endpoint must answer; then the call has failed")
        declare(
            "allow-http", sets: \.allowsHTTP,
            "whether endpoints without TLS are called; only for networks that you trust")
        declare(
            "allow-networks", sets: \.allowedNetworks,
            "networks that are called although they are not public, such as 10.1.0.0/16")
        declare(
            "authorities", sets: \.authorities,
            "a file with the certificates of the authorities that endpoints may have; empty means those that the machine trusts"
        )
    }
}
