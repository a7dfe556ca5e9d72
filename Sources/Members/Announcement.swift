package import LiveActivity

/// A record of `members`: what a process says of itself, under a key of its own.
package protocol Announcement: Record {
    var key: [UInt8] { get }
    /// Milliseconds since 1970: when it was said.
    var at: Int64 { get set }
}
