package import LiveActivity
package import Store

/// One row of a lane as people ask for it: what is known, and why it is or is not served.
package struct KnownToken: Sendable, Hashable {
    package enum Standing: Sendable, Hashable {
        case served
        /// Another row has the same token and is newer.
        case shadowed
        case expired
        /// The person has switched Live Activities off for the app.
        case activitiesOff
        /// The person has swiped the activity away. There is no token.
        case dismissed
        /// The installation has another recipient now; starts accepted before are still served.
        case movedAway
    }

    package var key: RegistryKey
    package var environment: LiveActivity.Environment
    /// Hexadecimal digits; the token itself stays where it is.
    package var tokenHash: String
    package var group: String?
    package var os: OSVersion?
    package var registeredAt: Int64
    package var expiresAt: Int64?
    package var movedAt: Int64?
    package var standing: Standing
}

/// Whose tokens are asked for.
package enum Inquiry: Sendable, Hashable {
    case recipient(Recipient)
    case installation(String)
}

extension Lane {
    private static let inquiryRows = 10_000

    /// All tokens of a recipient or an installation, in this lane. It looks at every token of the app, a
    /// part at a time: for a person's question, not for a send.
    package func known(_ inquiry: Inquiry, app: String, now: Int64) throws(StoreError) -> [KnownToken] {
        var found: [KnownToken] = []
        for kind in [RowKind.start, .update] {
            var range = KeyRange.everything
            var isMore = true
            while isMore {
                let (tables, topicKeys) = (tables, TopicKeys(names))
                let (next, more, part) = try file.read { view throws(StoreError) in
                    var next = range
                    var keys: [[UInt8]] = []
                    let table = kind == .start ? tables.starts : tables.activities
                    let more = try view.page(of: table, &next, rows: Self.inquiryRows) { key, _ in
                        if inquiry.mayMean(key, kind) { keys.append(Array(key)) }
                    }
                    var part: [KnownToken] = []
                    for key in keys {
                        guard let token = try KnownToken(kind, key, tables, topicKeys, now: now, view),
                            token.key.app == app, inquiry.means(token.key)
                        else { continue }
                        part.append(token)
                    }
                    return (next, more, part)
                }
                found += part
                (range, isMore) = (next, more)
            }
        }
        return found
    }
}

extension Inquiry {
    /// Looks at the bytes only; a name that is long, or another name with these bytes in it, may pass.
    fileprivate func mayMean(_ key: Span<UInt8>, _ kind: RowKind) -> Bool {
        guard case .recipient(let recipient) = self else { return true }
        var code: [UInt8] = []
        guard RecipientCode.append(recipient, to: &code) else { return false }
        var place = 0
        _ = OrderedNumber.read(key, at: &place)
        if kind == .start { _ = OrderedNumber.read(key, at: &place) } else { NameCode.skip(key, at: &place) }
        return key.extracting(place..<key.count).hasPrefix(code.span)
    }

    fileprivate func means(_ key: RegistryKey) -> Bool {
        switch self {
        case .recipient(let recipient): key.recipient == recipient
        case .installation(let installation): key.installation?.isExactly(installation) ?? false
        }
    }
}

extension KnownToken {
    fileprivate init?(
        _ kind: RowKind, _ key: [UInt8], _ tables: LaneTables, _ topicKeys: TopicKeys, now: Int64,
        _ view: borrowing ReadView
    ) throws(StoreError) {
        var row = key
        var group: String?
        if kind == .update, let code = try view.value(of: key.span, in: tables.activities) {
            RowPlace.update(ofActivity: key.span, group: code, into: &row)
            var text: [UInt8] = []
            var place = 0
            if code[0] != NameCode.Tag.none, NameCode.read(code, at: &place, to: &text) {
                group = String(decoding: text, as: UTF8.self)
            }
        }
        let table = kind == .start ? tables.starts : tables.updates
        guard let value = try view.value(of: row.span, in: table),
            let topicKey = RegistryKey(try topicKeys.bytes(kind, key.span, value, view))
        else { return nil }
        if let long = TokenValue.more(.group, value) { group = String(decoding: Array(long), as: UTF8.self) }
        self.key = topicKey
        self.group = group
        environment = value[0] & TokenValue.Flag.sandbox == 0 ? .production : .sandbox
        tokenHash = String(decoding: Hex.encode(Array(TokenValue.hash(value))), as: UTF8.self)
        os = OSVersion.read(value, at: TokenValue.Place.os)
        registeredAt = TokenValue.registeredAt(value)
        expiresAt = TokenValue.expiresAt(value)
        movedAt = TokenValue.movedAt(value)
        standing = Standing(value, now: now)
    }
}

extension KnownToken.Standing {
    fileprivate init(_ value: Span<UInt8>, now: Int64) {
        let flags = value[0]
        if !TokenValue.hasToken(value) {
            self = .dismissed
        } else if flags & TokenValue.Flag.movedAway != 0 {
            self = .movedAway
        } else if flags & TokenValue.Flag.off != 0 {
            self = .activitiesOff
        } else if TokenValue.expiresAt(value).map({ $0 <= now }) ?? false {
            self = .expired
        } else {
            self = flags & TokenValue.Flag.shadowed != 0 ? .shadowed : .served
        }
    }
}

extension RegistryKey {
    fileprivate init?(_ bytes: [UInt8]) {
        guard let key = unsafe bytes.withUnsafeBytes({ unsafe RegistryKey(bytes: $0) }) else { return nil }
        self = key
    }
}
