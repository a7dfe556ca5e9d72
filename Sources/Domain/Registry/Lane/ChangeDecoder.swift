internal import InstallationRecords
internal import JSON
internal import RecordFormat
internal import Store
internal import TokenSealing

/// A decoder that turns a record of the topic `registry` into a change of one row. The key of a change is the
/// row's kind (`RowKind`, one byte) and the row's key in `starts`, `activities` or `profiles` (`TableKey`).
/// The value is the row's value. In the value of an update the code of the group comes first, because the
/// row's key in `updates` contains it.
///
/// Only the newest record of a key counts, because compaction keeps no other. A record with an unreadable
/// value removes the row, because a rebuild would not have the row either. A record with an unreadable key
/// changes nothing.
///
/// A restore decodes every record of a lane, so this code allocates no text or array per record.
struct ChangeDecoder {
    private let reader = JSONReader()
    // Buffers that every record reuses.
    private var token = TokenFields()
    private var keyText: [UInt8] = []
    private var key: [UInt8] = []
    private var value: [UInt8] = []

    private static let invalidKeyProblem = "the key is not a key of the registry"

    /// Appends the change of a record. Returns the problem of the record, or nil if it is valid.
    mutating func append(
        key recordKey: Span<UInt8>?, value recordValue: Span<UInt8>?, to batch: inout RowBatch,
        names: inout NameTable, in file: StateFile
    ) throws(StoreError) -> String? {
        guard let recordKey else { return Self.invalidKeyProblem }
        if let parts = KeyParts(plain: recordKey) {
            return try appendChange(
                parts, in: recordKey, topicKey: recordKey, record: recordValue, to: &batch, names: &names,
                file: file)
        }
        guard let registryKey = unsafe recordKey.withUnsafeBytes({ unsafe RegistryKey(bytes: $0) }) else {
            return Self.invalidKeyProblem
        }
        keyText.removeAll(keepingCapacity: true)
        let parts = KeyParts(registryKey, in: &keyText)
        let (text, canonicalKey) = (keyText, registryKey.bytes)
        return try appendChange(
            parts, in: text.span, topicKey: canonicalKey.span, record: recordValue, to: &batch, names: &names,
            file: file)
    }

    /// Appends the key of a record's change, without a value. Appends nothing if the key is invalid.
    mutating func append(
        changedKey recordKey: Span<UInt8>, to batch: inout RowBatch, names: inout NameTable,
        in file: StateFile
    ) throws(StoreError) {
        _ = try append(key: recordKey, value: nil, to: &batch, names: &names, in: file)
    }

    /// - Parameters:
    ///   - text: The bytes to which the ranges of `parts` refer.
    ///   - topicKey: The record's key. The row stores it if a name is too long for the row's key.
    private mutating func appendChange(
        _ parts: KeyParts, in text: Span<UInt8>, topicKey: Span<UInt8>, record: Span<UInt8>?,
        to batch: inout RowBatch, names: inout NameTable, file: StateFile
    ) throws(StoreError) -> String? {
        key.removeAll(keepingCapacity: true)
        guard try appendKey(parts, in: text, names: &names, file: file) else {
            return "a name in the key is empty, too long, or has control characters"
        }
        guard let record else {
            batch.remove(key.span)
            return nil
        }
        value.removeAll(keepingCapacity: true)
        let problem = try appendValue(
            parts, in: text, topicKey: topicKey, record: record, names: &names, file: file)
        if problem == nil { batch.put(key.span, value: value.span) } else { batch.remove(key.span) }
        return problem
    }

    /// Appends the change's key to `key`. Returns false if a name is invalid.
    private mutating func appendKey(
        _ parts: KeyParts, in text: Span<UInt8>, names: inout NameTable, file: StateFile
    ) throws(StoreError) -> Bool {
        let app = try names.number(for: text.extracting(parts.app), in: file)
        let name = text.extracting(parts.name)
        key.append(parts.kind.rawValue)
        OrderedNumber.append(app, to: &key)
        switch parts.kind {
        case .start:
            if !name.isEmpty, !NameCode.isValidName(name) { return false }
            OrderedNumber.append(try number(ofType: name, names: &names, in: file), to: &key)
        case .update: if !NameCode.append(name, to: &key) { return false }
        case .profile: break
        }
        return TableKey.appendHolder(
            isUser: parts.isUser, recipient: text.extracting(parts.recipient),
            installation: text.extracting(parts.installation),
            to: &key)
    }

    /// Appends the change's value to `value`. Returns the problem of the record, or nil if it is valid.
    private mutating func appendValue(
        _ parts: KeyParts, in text: Span<UInt8>, topicKey: Span<UInt8>, record: Span<UInt8>,
        names: inout NameTable, file: StateFile
    ) throws(StoreError) -> String? {
        do throws(RecordDecodingError) {
            if parts.kind == .profile {
                try ProfileValue.append(record, to: &value, with: reader)
                return nil
            }
            try token.read(record, with: reader)
        } catch {
            return error.description
        }
        let isStart = parts.kind == .start
        var hasLongNames = parts.hasLongNames
        let type: Int
        if isStart {
            type = try number(ofType: text.extracting(parts.name), names: &names, in: file)
        } else {
            type = try number(ofType: token[token.attributesType ?? 0..<0], names: &names, in: file)
            guard Self.appendGroup(of: token, to: &value) else { return "the group is not a valid name" }
            let groupBytes = token.group?.count ?? 0
            hasLongNames = hasLongNames || groupBytes > NameCode.textBytesMax
        }
        let longKey = hasLongNames ? topicKey : Span()
        return TokenValue.append(token, isStart: isStart, type: type, longKey: longKey, to: &value)
            ? nil : "tokenHash must be \(2 * TokenSeal.hashBytes) hexadecimal digits"
    }

    private static func appendGroup(of token: borrowing TokenFields, to value: inout [UInt8]) -> Bool {
        guard let group = token.group else { return TableKey.appendGroup(nil, to: &value) }
        return TableKey.appendGroup(token[group], to: &value)
    }

    /// Returns the number of an activity type. An empty type means every type, or an unknown one.
    private func number(
        ofType type: Span<UInt8>, names: inout NameTable, in file: StateFile
    ) throws(StoreError) -> Int {
        type.isEmpty ? NameTable.noName : try names.number(for: type, in: file)
    }
}
