/// A record of a topic from which events are made, copied from its batch.
struct SourceRecord: Sendable {
    let offset: Int64
    /// The cluster's stamp in milliseconds since 1970.
    let stamp: Int64
    let key: [UInt8]
    /// Nil for a tombstone.
    let value: [UInt8]?
    /// The code of a dead letter and its stage. Nil in other topics.
    var rejection: Rejection?

    struct Rejection: Sendable, Hashable {
        let stage: String
        let code: String
    }
}
