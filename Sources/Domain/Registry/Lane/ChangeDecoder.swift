internal import JSON
internal import LiveActivity
internal import Store

/// A decoder that turns records of the topic into changes of rows. The key of a change consists of its kind
/// and the key that the record's key gives. The value of an update starts with its group, which decides the
/// place of the row.
///
/// Only the newest record of a key counts, because compaction keeps no other. A record with an unreadable
/// value removes the row, because a rebuild would not have the row either. A record with an unreadable key
/// changes nothing.
///
/// A restore decodes every record of a lane, so this code allocates no text or array per record.
struct ChangeDecoder {
    private let reader = JSONReader()
    private var token = TokenFields()
    private var keyText: [UInt8] = []
    private var key: [UInt8] = []
    private var value: [UInt8] = []

    /// Appends the change of a record. Returns the problem of the record, or nil if it is valid.
    mutating func append(
        key recordKey: Span<UInt8>?, value recordValue: Span<UInt8>?, to batch: inout RowBatch,
        names: inout NameTable, in file: StateFile
    ) throws(StoreError) -> String? {
        guard let recordKey else { return Self.invalidKeyProblem }
        if let parts = KeyParts(plain: recordKey) {
            return try append(
                parts, of: recordKey, key: recordKey, record: recordValue, to: &batch, names: &names,
                file: file)
        }
        guard let registryKey = unsafe recordKey.withUnsafeBytes({ unsafe RegistryKey(bytes: $0) }) else {
            return Self.invalidKeyProblem
        }
        keyText.removeAll(keepingCapacity: true)
        let parts = KeyParts(registryKey, in: &keyText)
        let (text, canonical) = (keyText, registryKey.bytes)
        return try append(
            parts, of: text.span, key: canonical.span, record: recordValue, to: &batch, names: &names,
            file: file)
    }

    /// Appends the key of a record's change, without a value. Appends nothing if the key is invalid.
    mutating func append(
        changedKey recordKey: Span<UInt8>, to batch: inout RowBatch, names: inout NameTable,
        in file: StateFile
    ) throws(StoreError) {
        _ = try append(key: recordKey, value: nil, to: &batch, names: &names, in: file)
    }

    private static let invalidKeyProblem = "the key is not a key of the registry"

    private mutating func append(
        _ parts: KeyParts, of text: Span<UInt8>, key topicKey: Span<UInt8>, record: Span<UInt8>?,
        to batch: inout RowBatch, names: inout NameTable, file: StateFile
    ) throws(StoreError) -> String? {
        key.removeAll(keepingCapacity: true)
        guard try appendKey(parts, of: text, names: &names, in: file) else {
            return "a name in the key is empty, too long, or has control characters"
        }
        guard let record else {
            batch.remove(key.span)
            return nil
        }
        value.removeAll(keepingCapacity: true)
        let problem = try appendValue(parts, of: text, key: topicKey, record: record, names: &names, in: file)
        if problem == nil { batch.put(key.span, value: value.span) } else { batch.remove(key.span) }
        return problem
    }

    private mutating func appendKey(
        _ parts: KeyParts, of text: Span<UInt8>, names: inout NameTable, in file: StateFile
    ) throws(StoreError) -> Bool {
        let app = try names.number(for: text.extracting(parts.app), in: file)
        let name = text.extracting(parts.name)
        key.append(parts.kind.rawValue)
        OrderedNumber.append(app, to: &key)
        switch parts.kind {
        case .start:
            if !name.isEmpty, !NameCode.isValidName(name) { return false }
            OrderedNumber.append(try number(of: name, names: &names, in: file), to: &key)
        case .update: if !NameCode.append(name, to: &key) { return false }
        case .profile: break
        }
        return TableKey.append(
            isUser: parts.isUser, recipient: text.extracting(parts.recipient),
            installation: text.extracting(parts.installation),
            to: &key)
    }

    private mutating func appendValue(
        _ parts: KeyParts, of text: Span<UInt8>, key topicKey: Span<UInt8>, record: Span<UInt8>,
        names: inout NameTable, in file: StateFile
    ) throws(StoreError) -> String? {
        do throws(RecordDecodingError) {
            if parts.kind == .profile {
                let longKey = parts.hasLongNames ? topicKey : Span()
                try ProfileValue.append(record, longKey: longKey, to: &value, with: reader)
                return nil
            }
            try token.read(record, with: reader)
        } catch {
            return error.description
        }
        var isLong = parts.hasLongNames
        let type: Int
        if parts.kind == .start {
            type = try number(of: text.extracting(parts.name), names: &names, in: file)
        } else {
            type = try number(of: token[token.attributesType ?? 0..<0], names: &names, in: file)
            guard Self.append(group: token, to: &value) else { return "the group is not a valid name" }
            isLong = isLong || token.group?.count ?? 0 > NameCode.textBytesMax
        }
        let longKey = isLong ? topicKey : Span()
        let isStart = parts.kind == .start
        return TokenValue.append(token, isStart: isStart, type: type, longKey: longKey, to: &value)
            ? nil : "tokenHash must be \(2 * TokenSeal.hashBytes) hexadecimal digits"
    }

    private static func append(group row: borrowing TokenFields, to value: inout [UInt8]) -> Bool {
        guard let group = row.group else { return TableKey.append(group: nil, to: &value) }
        return TableKey.append(group: row[group], to: &value)
    }

    private func number(
        of type: Span<UInt8>, names: inout NameTable, in file: StateFile
    ) throws(StoreError) -> Int {
        type.isEmpty ? NameTable.noName : try names.number(for: type, in: file)
    }
}
