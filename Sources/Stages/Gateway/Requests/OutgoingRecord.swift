internal import CatalogRecords
internal import Identifiers
internal import InstallationRecords
internal import RecordFormat
internal import Sends
internal import Topics

/// A record that a request stores in Kafka.
struct OutgoingRecord: Sendable {
    /// The topic of a record. The raw value is the topic's index in the list with which `RequestWorker` makes its
    /// `SharedProducer`.
    enum Destination: Int, Sendable, CaseIterable {
        case sends
        case schedules
        case reports
        case audit
        case auditSends
        case catalog
        case superseded

        var topic: TopicName {
            switch self {
            case .sends: .sends
            case .schedules: .schedules
            case .reports: .reports
            case .audit: .audit
            case .auditSends: .auditSends
            case .catalog: .catalog
            case .superseded: .superseded
            }
        }
    }

    let destination: Destination
    let key: [UInt8]
    /// Nil deletes the key's earlier record.
    let value: [UInt8]?
    /// The partition of a record that every partition gets. Nil for the partition of the key.
    var partition: Int32?

    static func audit(_ entry: AuditEntry) -> OutgoingRecord {
        OutgoingRecord(destination: .audit, key: entry.key, value: entry.encoded())
    }

    /// Makes a record of the audit of sends. Its lane is the subject's, so that an app with many sends fills no single
    /// lane.
    static func auditOfSends(_ entry: AuditEntry) -> OutgoingRecord {
        OutgoingRecord(
            destination: .auditSends, key: RecordKey.join(entry.app, entry.subject ?? ""),
            value: entry.encoded())
    }

    static func report(_ report: Report) -> OutgoingRecord {
        OutgoingRecord(destination: .reports, key: report.key, value: report.encoded())
    }

    static func erasure(_ erasure: RecipientErasure) -> OutgoingRecord {
        OutgoingRecord(destination: .superseded, key: erasure.key, value: erasure.encoded())
    }
}
