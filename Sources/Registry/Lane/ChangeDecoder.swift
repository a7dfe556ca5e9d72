internal import JSON
internal import LiveActivity
internal import Store

/// Turns records of the topic into changes of rows. A change stands under its kind and the one key that
/// the record's own key gives; an update's value begins with its group, which says where the row goes.
///
/// The newest record under a key is all that counts, since compaction keeps no other. So a record whose
/// value cannot be read removes the row, as it would be gone after a rebuild, and one whose key cannot
/// be read changes nothing.
struct ChangeDecoder {
    private let reader = JSONReader()
    private let attributesReader = JSONReader()
    private var key: [UInt8] = []
    private var value: [UInt8] = []

    /// Returns what is wrong with the record, nil for a good one.
    mutating func append(
        key recordKey: Span<UInt8>?, value recordValue: Span<UInt8>?, to batch: inout RowBatch,
        names: inout Names, in file: StateFile
    ) throws(StoreError) -> String? {
        guard let recordKey,
            let registryKey = unsafe recordKey.withUnsafeBytes({ unsafe RegistryKey(bytes: $0) })
        else { return "the key is none of the registry" }
        key.removeAll(keepingCapacity: true)
        value.removeAll(keepingCapacity: true)
        guard try appendKey(registryKey, &names, file) else {
            return "a name in the key is empty, too long, or has control characters"
        }
        guard let recordValue else {
            batch.remove(key.span)
            return nil
        }
        let problem = try appendValue(registryKey, recordValue, &names, file)
        if problem == nil { batch.put(key.span, value.span) } else { batch.remove(key.span) }
        return problem
    }

    private mutating func appendKey(
        _ registryKey: RegistryKey, _ names: inout Names, _ file: StateFile
    ) throws(StoreError) -> Bool {
        let app = try names.number(registryKey.app, in: file)
        switch registryKey.entry {
        case .start(let type):
            if let type, Name.problem(type) != nil { return false }
            key.append(RowKind.start.rawValue)
            OrderedNumber.append(app, to: &key)
            OrderedNumber.append(try number(type, &names, file), to: &key)
        case .update(let activity):
            key.append(RowKind.update.rawValue)
            OrderedNumber.append(app, to: &key)
            guard NameCode.append(activity, to: &key) else { return false }
        case .profile:
            key.append(RowKind.profile.rawValue)
            OrderedNumber.append(app, to: &key)
        }
        return RowPlace.append(registryKey.recipient, registryKey.installation, to: &key)
    }

    private mutating func appendValue(
        _ registryKey: RegistryKey, _ record: Span<UInt8>, _ names: inout Names, _ file: StateFile
    ) throws(StoreError) -> String? {
        do {
            if registryKey.entry == .profile {
                let row = try unsafe record.withUnsafeBytes { bytes throws(RecordError) in
                    try unsafe ProfileRow.decode(bytes, with: reader)
                }
                let longKey = registryKey.hasLongNames ? registryKey.bytes : nil
                ProfileValue.append(row, longKey: longKey, to: &value, with: attributesReader)
                return nil
            }
            let row = try unsafe record.withUnsafeBytes { bytes throws(RecordError) in
                try unsafe TokenRow.decode(bytes, with: reader)
            }
            return try append(row, registryKey, &names, file)
        } catch let error as RecordError {
            return error.description
        } catch let error as StoreError {
            throw error
        } catch {
            return "\(error)"
        }
    }

    private mutating func append(
        _ row: TokenRow, _ registryKey: RegistryKey, _ names: inout Names, _ file: StateFile
    ) throws(StoreError) -> String? {
        var row = row
        var isLong = registryKey.hasLongNames
        if case .start(let type) = registryKey.entry {
            row.attributesType = type
            row.group = nil
        } else {
            guard RowPlace.append(group: row.group, to: &value) else { return "the group cannot be a name" }
            if let group = row.group, group.utf8.count > NameCode.textBytesMax { isLong = true }
        }
        let type = try number(row.attributesType, &names, file)
        let longKey = isLong ? registryKey.bytes : nil
        return TokenValue.append(row, type: type, longKey: longKey, to: &value)
            ? nil : "tokenHash must be \(2 * TokenSeal.hashBytes) hexadecimal digits"
    }

    private func number(_ type: String?, _ names: inout Names, _ file: StateFile) throws(StoreError) -> Int {
        guard let type else { return Names.none }
        return try names.number(type, in: file)
    }
}

extension RegistryKey {
    /// Whether the row's own key has a digest, so that the text must stand elsewhere.
    fileprivate var hasLongNames: Bool {
        func isLong(_ name: String?) -> Bool { (name?.utf8.count ?? 0) > NameCode.textBytesMax }
        let activity: String? = if case .update(let activity) = entry { activity } else { nil }
        let name =
            switch recipient {
            case .user(let name), .installation(let name): name
            }
        return isLong(name) || isLong(installation) || isLong(activity)
    }
}
