/// The two encodings of Kafka's messages. The version of a request decides which one it and its answer have
/// (`VersionRange.encoding(of:)`).
package enum WireEncoding: Sendable, CaseIterable {
    /// Lengths with a fixed number of bytes.
    case classic
    /// Lengths of variable size, and a list of tagged fields at the end of each structure. Kafka calls versions
    /// with this encoding flexible.
    case compact
}
