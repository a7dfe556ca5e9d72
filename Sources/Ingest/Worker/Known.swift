internal import LiveActivity

/// What is known of one installation, passed by reference: the value is large and made of many parts,
/// and a batch hands it from table to table. It never changes, so that a batch that is not committed
/// leaves nothing behind.
final class Known: Sendable {
    let installation: Installation

    init(_ installation: Installation) { self.installation = installation }
}
