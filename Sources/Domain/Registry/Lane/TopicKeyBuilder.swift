internal import LiveActivity
internal import Store

/// The reconstruction of a row's topic key, for questions of people and for ties between two rows. It is too
/// slow for hot paths.
struct TopicKeyBuilder {
    private let names: NameTable

    init(names: NameTable) { self.names = names }

    /// - Parameter key: The key as in `starts`, `activities` or `profiles`.
    func bytes(
        of kind: RowKind, key: Span<UInt8>, value: Span<UInt8>, snapshot picture: borrowing ReadSnapshot
    ) throws(StoreError) -> [UInt8] {
        if kind == .profile, let long = ProfileValue.longKey(in: value) { return Array(long) }
        if kind != .profile, let long = TokenValue.optionalField(.key, in: value) { return Array(long) }
        var offset = 0
        let app = try name(of: OrderedNumber.read(key, at: &offset), snapshot: picture)
        var entry = RegistryKey.Entry.profile
        switch kind {
        case .start:
            let type = OrderedNumber.read(key, at: &offset)
            entry = .start(type: type == NameTable.noName ? nil : try name(of: type, snapshot: picture))
        case .update:
            var activity: [UInt8] = []
            _ = NameCode.read(key, at: &offset, to: &activity)
            entry = .update(activity: String(decoding: activity, as: UTF8.self))
        case .profile: break
        }
        var recipient: [UInt8] = []
        _ = RecipientCode.read(key, at: &offset, to: &recipient)
        var installation: [UInt8] = []
        if key[offset] == NameCode.Tag.recipient {
            installation = Array(recipient.dropFirst(2))
        } else {
            _ = NameCode.read(key, at: &offset, to: &installation)
        }
        return RecordKey.join(
            app, String(decoding: recipient, as: UTF8.self), String(decoding: installation, as: UTF8.self),
            entry.text)
    }

    private func name(of number: Int, snapshot picture: borrowing ReadSnapshot) throws(StoreError) -> String {
        var text: [UInt8] = []
        try names.appendName(of: number, to: &text, snapshot: picture)
        return String(decoding: text, as: UTF8.self)
    }
}
