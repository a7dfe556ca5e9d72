package import LiveActivity
package import Store

/// One row of a lane for people: the known fields, and whether it is served or the reason that it is not.
package struct TokenDetails: Sendable, Hashable {
    package enum ServingState: Sendable, Hashable {
        case served
        /// Another row has the same token and is newer.
        case shadowed
        case expired
        /// The person switched Live Activities off for the app.
        case activitiesOff
        /// The person swiped the activity away. The row has no token.
        case dismissed
        /// The installation has another recipient now. Starts that were accepted before are still served.
        case movedAway
    }

    package var key: RegistryKey
    package var environment: LiveActivity.Environment
    /// Hexadecimal digits. The token itself is never copied out.
    package var tokenHash: String
    package var group: String?
    package var os: OSVersion?
    package var registeredAt: Int64
    package var expiresAt: Int64?
    package var movedAt: Int64?
    package var servingState: ServingState
}

/// The recipient or installation of a token lookup.
package enum TokenLookup: Sendable, Hashable {
    case recipient(Recipient)
    case installation(String)
}

extension Lane {
    private static let lookupRowsMax = 10_000

    /// Returns all tokens of a recipient or an installation in this lane. The tokens of a recipient are
    /// adjacent. For an installation it scans every token of the lane, one part at a time, so it is only for
    /// questions of people.
    package func tokens(matching inquiry: TokenLookup, app: String, now: Int64) throws(StoreError)
        -> [TokenDetails]
    {
        switch inquiry {
        case .recipient(let recipient): return try known(of: recipient, app: app, now: now)
        case .installation(let name):
            var found: [TokenDetails] = []
            for (kind, table) in [(RowKind.start, tables.starts), (.update, tables.activities)] {
                found += try known(in: table, .everything, now: now) {
                    (kind, Array($0))
                } where: {
                    $0.key.app == app && $0.key.installation?.isExactlyEqual(to: name) ?? false
                }
            }
            return found
        }
    }

    private func known(
        of recipient: Recipient, app: String, now: Int64
    ) throws(StoreError) -> [TokenDetails] {
        let (tables, names, topicKeys) = (tables, names, TopicKeyBuilder(names: names))
        var code: [UInt8] = []
        guard RecipientCode.append(recipient, to: &code) else { return [] }
        var prefix: [UInt8] = []
        var found: [TokenDetails] = []
        try file.read { picture throws(StoreError) in
            guard let number = try names.existingNumber(for: Array(app.utf8).span, snapshot: picture) else {
                return
            }
            OrderedNumber.append(number, to: &prefix)
            for key in try Self.startKeys(of: code, app: prefix, in: tables.starts, snapshot: picture) {
                if let token = try TokenDetails(
                    kind: .start, key: key, in: tables, topicKeys: topicKeys, now: now, snapshot: picture)
                {
                    found.append(token)
                }
            }
        }
        if prefix.isEmpty { return [] }
        return try found
            + known(in: tables.recipients, KeyRange(prefix: prefix + code), now: now) { key in
                var activity: [UInt8] = []
                TableKey.writeActivityKey(ofRecipient: key, into: &activity)
                return (.update, activity)
            } where: { _ in
                true
            }
    }

    /// Returns the keys of a recipient's start tokens. It makes one jump for each activity type of the app.
    private static func startKeys(
        of code: [UInt8], app: [UInt8], in table: Table, snapshot picture: borrowing ReadSnapshot
    ) throws(StoreError) -> [[UInt8]] {
        var keys: [[UInt8]] = []
        var cursor = try picture.cursor(of: table, from: app.span)
        while cursor.isOnRow, cursor.key.hasPrefix(app.span) {
            var end = app.count
            _ = OrderedNumber.read(cursor.key, at: &end)
            let type = Array(cursor.key.extracting(0..<end))
            let prefix = type + code
            try cursor.seek(to: prefix.span)
            while cursor.isOnRow, cursor.key.hasPrefix(prefix.span) {
                keys.append(Array(cursor.key))
                try cursor.advance()
            }
            guard let behind = type.firstKeyAfterPrefix else { break }
            try cursor.seek(to: behind.span)
        }
        return keys
    }

    /// Returns the tokens of a table's range, one part at a time.
    ///
    /// - Parameter entry: Returns the key in `starts` or `activities` for a row.
    private func known(
        in table: Table, _ range: KeyRange, now: Int64, entry: (Span<UInt8>) -> (RowKind, [UInt8]),
        where isWanted: (TokenDetails) -> Bool
    ) throws(StoreError) -> [TokenDetails] {
        let (tables, topicKeys) = (tables, TopicKeyBuilder(names: names))
        var found: [TokenDetails] = []
        var range = range
        var isMore = true
        while isMore {
            let (next, more, part) = try file.read { picture throws(StoreError) in
                var next = range
                var keys: [(RowKind, [UInt8])] = []
                let more = try picture.readPage(of: table, range: &next, rowsMax: Self.lookupRowsMax) {
                    key, _ in
                    keys.append(entry(key))
                }
                var part: [TokenDetails] = []
                for (kind, key) in keys {
                    if let token = try TokenDetails(
                        kind: kind, key: key, in: tables, topicKeys: topicKeys, now: now, snapshot: picture),
                        isWanted(token)
                    {
                        part.append(token)
                    }
                }
                return (next, more, part)
            }
            found += part
            (range, isMore) = (next, more)
        }
        return found
    }
}

extension TokenDetails {
    fileprivate init?(
        kind: RowKind, key: [UInt8], in tables: LaneTables, topicKeys: TopicKeyBuilder, now: Int64,
        snapshot picture: borrowing ReadSnapshot
    ) throws(StoreError) {
        var row = key
        var group: String?
        if kind == .update, let code = try picture.value(of: key.span, in: tables.activities) {
            TableKey.writeUpdateKey(ofActivity: key.span, group: code, into: &row)
            var text: [UInt8] = []
            var offset = 0
            if code[0] != NameCode.Tag.none, NameCode.read(code, at: &offset, to: &text) {
                group = String(decoding: text, as: UTF8.self)
            }
        }
        let table = kind == .start ? tables.starts : tables.updates
        guard let value = try picture.value(of: row.span, in: table),
            let topicKey = RegistryKey(
                try topicKeys.bytes(of: kind, key: key.span, value: value, snapshot: picture))
        else { return nil }
        if let long = TokenValue.optionalField(.group, in: value) {
            group = String(decoding: Array(long), as: UTF8.self)
        }
        self.key = topicKey
        self.group = group
        environment = value[0] & TokenValue.Flag.sandbox == 0 ? .production : .sandbox
        tokenHash = String(decoding: Hex.encode(Array(TokenValue.tokenHash(in: value))), as: UTF8.self)
        os = OSVersion.read(value, at: TokenValue.FieldOffset.os)
        registeredAt = TokenValue.registeredAt(in: value)
        expiresAt = TokenValue.expiresAt(in: value)
        movedAt = TokenValue.movedAt(in: value)
        servingState = ServingState(of: value, now: now)
    }
}

extension TokenDetails.ServingState {
    fileprivate init(of value: Span<UInt8>, now: Int64) {
        let flags = value[0]
        if !TokenValue.hasToken(value) {
            self = .dismissed
        } else if flags & TokenValue.Flag.movedAway != 0 {
            self = .movedAway
        } else if flags & TokenValue.Flag.switchedOff != 0 {
            self = .activitiesOff
        } else if TokenValue.expiresAt(in: value).map({ $0 <= now }) ?? false {
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
