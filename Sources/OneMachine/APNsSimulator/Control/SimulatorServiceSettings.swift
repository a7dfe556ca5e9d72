package import Lifecycle

/// Settings of a simulator as a service of a process.
package struct SimulatorServiceSettings: Sendable {
    package var simulator = SimulatorSettings()
    /// Directory of the CA and the key for provider tokens. They are created if they are missing.
    package var credentialsDirectory: String
    /// Phones of one app. Without these and without phones of a portal file, every token is valid and nothing
    /// is stored.
    package var phones: Population?
    /// File with the activity types of the phones' app. It overrides the types in `phones`.
    package var typesFile: String?
    /// File with further apps, keys and phones.
    package var portalFile: String?
    package var phoneSettings = PhoneSettings()
    /// Receiver of the phones' reports. Without it, phones send no reports.
    package var reportSink: (@Sendable (EventLoop, ServiceContext) -> any ReportSink)?
    package var controlHost = "127.0.0.1"
    package var controlPort = 0
    /// File with an initial script.
    package var scriptFile: String?
    /// File with one line of JSON for each request.
    package var journalFile: String?
    /// File with a record of 128 bytes for each request (`RequestRecord`).
    package var recordsFile: String?
    /// Whether each batch of lines is synced to disk before the next one is written.
    package var syncsJournal = false
    /// Whether entries in the journal's file contain the payload.
    package var journalShowsPayloads = false
    package var journalLimits = JournalLimits()
    package var tlsFaults: [TLSFaultListener] = []

    package init(credentialsDirectory: String) { self.credentialsDirectory = credentialsDirectory }
}

/// A port with one TLS fault.
package struct TLSFaultListener: Sendable, Hashable {
    package let fault: TLSFault
    package let port: Int

    package init(_ fault: TLSFault, port: Int) {
        self.fault = fault
        self.port = port
    }
}
