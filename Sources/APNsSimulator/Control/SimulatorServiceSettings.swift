package import Lifecycle

/// What a simulator is as a part of a process.
package struct SimulatorServiceSettings: Sendable {
    package var simulator = SimulatorSettings()
    /// Where the CA and the key for provider tokens are, or are made.
    package var directory: String
    /// Many phones of one app; nil takes every token for a good one and keeps nothing.
    package var phones: Population?
    /// A file with the types of the phones' app, in the place of those of `phones`.
    package var typesFile: String?
    /// A file with further apps, keys and phones.
    package var portalFile: String?
    package var phoneSettings = PhoneSettings()
    /// Where the phones report to; without one they tell nobody.
    package var reportSink: (@Sendable (EventLoop, ServiceContext) -> any ReportSink)?
    package var controlHost = "127.0.0.1"
    package var controlPort = 0
    /// A file with a script to begin with.
    package var scriptFile: String?
    package var journalFile: String?
    /// A file with a record of 128 bytes for each request.
    package var recordsFile: String?
    /// Whether each batch of the journal's file is on the disk before the next is written.
    package var syncsJournal = false
    /// Whether an entry of the journal's file has what its request brought.
    package var journalShowsPayloads = false
    package var journal = JournalLimits()
    package var tlsFaults: [TLSFaultListener] = []

    package init(directory: String) { self.directory = directory }
}

/// A port with a fault of its own.
package struct TLSFaultListener: Sendable, Hashable {
    package let fault: TLSFault
    package let port: Int

    package init(_ fault: TLSFault, port: Int) {
        self.fault = fault
        self.port = port
    }
}
