internal import Identifiers
internal import InstallationRecords
internal import Store

/// A builder that restores the key of a row's record in the topic `registry`. `TokenConflicts` compares such
/// keys if two rows have the same time. It is too slow for hot paths.
struct TopicKeyBuilder {
    private let names: NameTable

    init(names: NameTable) { self.names = names }

    /// Returns the topic key of a token's row.
    ///
    /// - Parameters:
    ///   - key: The row's key in `starts` or `activities`.
    ///   - value: The row's value. It contains the topic key if a name is too long for the row's key.
    func bytes(
        of kind: RowKind, key: Span<UInt8>, value: Span<UInt8>, snapshot: borrowing ReadSnapshot
    ) throws(StoreError) -> [UInt8] {
        if let longKey = TokenValue.optionalField(.topicKey, in: value) { return Array(longKey) }
        var offset = 0
        let app = try name(of: OrderedNumber.read(key, at: &offset), snapshot: snapshot)
        let entry: RegistryKey.Entry
        switch kind {
        case .start:
            let type = OrderedNumber.read(key, at: &offset)
            entry = .start(type: type == NameTable.noName ? nil : try name(of: type, snapshot: snapshot))
        case .update:
            var activity: [UInt8] = []
            _ = NameCode.read(key, at: &offset, to: &activity)
            entry = .update(activity: String(decoding: activity, as: UTF8.self))
        case .profile: preconditionFailure("a profile has no token")
        }
        var recipient: [UInt8] = []
        _ = RecipientCode.read(key, at: &offset, to: &recipient)
        var installation: [UInt8] = []
        if key[offset] == NameCode.Tag.recipient {
            // The recipient is the installation: its text is `i:` and the name.
            installation = Array(recipient.dropFirst(2))
        } else {
            _ = NameCode.read(key, at: &offset, to: &installation)
        }
        return RecordKey.join(
            app, String(decoding: recipient, as: UTF8.self), String(decoding: installation, as: UTF8.self),
            entry.text)
    }

    private func name(of number: Int, snapshot: borrowing ReadSnapshot) throws(StoreError) -> String {
        var text: [UInt8] = []
        try names.appendName(of: number, to: &text, snapshot: snapshot)
        return String(decoding: text, as: UTF8.self)
    }
}
