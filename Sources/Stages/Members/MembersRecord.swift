package import RecordFormat

/// A record of the topic `members` that a process writes about itself: `Member` or `ProcessFacts`. No other
/// process uses its key.
package protocol MembersRecord: JSONRecord {
    var key: [UInt8] { get }
    /// The time at which the record was written, in milliseconds since 1970.
    var at: Int64 { get set }
}
