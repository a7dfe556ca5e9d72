package import LiveActivity

/// A process's own record in `members`, under a key that no other process uses.
package protocol Announcement: JSONRecord {
    var key: [UInt8] { get }
    /// The time of the record, in milliseconds since 1970.
    var at: Int64 { get set }
}
