internal import LiveActivity
internal import Store

/// The reconstruction of a row's topic key, for questions of people and for ties between two rows. It is too
/// slow for hot paths.
struct TopicKeys {
    private let names: Names

    init(_ names: Names) { self.names = names }

    /// - Parameter key: The key as in `starts`, `activities` or `profiles`.
    func bytes(
        of kind: RowKind, key: Span<UInt8>, value: Span<UInt8>, seen picture: borrowing Picture
    ) throws(StoreError) -> [UInt8] {
        if kind == .profile, let long = ProfileValue.longKey(value) { return Array(long) }
        if kind != .profile, let long = TokenValue.more(.key, value) { return Array(long) }
        var offset = 0
        let app = try text(OrderedNumber.read(key, at: &offset), picture)
        var entry = RegistryKey.Entry.profile
        switch kind {
        case .start:
            let type = OrderedNumber.read(key, at: &offset)
            entry = .start(type: type == Names.none ? nil : try text(type, picture))
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

    private func text(_ number: Int, _ picture: borrowing Picture) throws(StoreError) -> String {
        var text: [UInt8] = []
        try names.append(number, to: &text, picture)
        return String(decoding: text, as: UTF8.self)
    }
}
