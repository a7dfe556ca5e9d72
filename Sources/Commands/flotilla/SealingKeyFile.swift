internal import CLinux
internal import Catalog
internal import Glibc
internal import Lifecycle
internal import Settings
internal import Telemetry
internal import TokenSealing

struct SealingSettings: OperatorSettings {
    var keysFile: String?

    static let declared = SettingsGroup(prefix: "tokens", defaults: SealingSettings()) { declare in
        declare(
            "sealing-keys-file", sets: \.keysFile,
            "file of the keys that encrypt push tokens in topics and state files, the same for every process; without it tokens are not encrypted"
        )
    }
}

/// The file of the keys that seal push tokens. A setting names it, or `flotilla up` creates it.
enum SealingKeyFile {
    static func read(settings: ResolvedSettings, log: Log) throws -> SealingKeys? {
        if let path = settings[SealingSettings.self].keysFile { return try readKeys(from: path) }
        log.warning(
            "push tokens are not encrypted; name a file of keys with tokens.sealing-keys-file")
        return nil
    }

    static func readOrCreate(settings: ResolvedSettings, in data: String, log: Log) throws -> SealingKeys? {
        if settings[SealingSettings.self].keysFile != nil { return try read(settings: settings, log: log) }
        let path = data + "/sealing-keys"
        if unsafe access(path, F_OK) != 0 {
            try createFile(at: path, in: data)
            log.info(
                "created keys that seal push tokens; keep a copy in a safe place, because tokens are lost without the keys",
                .field("file", path))
        }
        return try readKeys(from: path)
    }

    /// Makes a new file. An existing file stays as it is, because without its keys the sealed tokens are
    /// lost.
    static func createNew(at path: String) throws {
        if unsafe access(path, F_OK) == 0 {
            throw CommandError(status: .cannotCreate, "\(path) already exists; nothing was changed")
        }
        let slash = path.lastIndex(of: "/")
        try createFile(at: path, in: slash.map { $0 == path.startIndex ? "/" : String(path[..<$0]) } ?? ".")
    }

    /// Returns the keys for a command, which writes beside the running processes. Without a named file, the
    /// keys of a `flotilla up` on this machine are used if they are the keys of this installation.
    static func read(settings: ResolvedSettings, for catalog: CatalogSnapshot) throws -> SealingKeys? {
        let now = WallTime.now().milliseconds
        guard let path = settings[SealingSettings.self].keysFile else {
            return keysOfUp(settings: settings).first { candidate in
                if case .accepted = SealingKeys.verdict(
                    on: candidate, recorded: catalog.sealingRecord, now: now)
                {
                    return catalog.sealingRecord != nil
                }
                return false
            }
        }
        let keys = try readKeys(from: path)
        if case .refused(let reason) = SealingKeys.verdict(
            on: keys, recorded: catalog.sealingRecord, now: now)
        {
            throw CommandError(status: .configuration, reason)
        }
        return keys
    }

    /// Returns the keys that `flotilla up` made in its data directory: the directory that is set, or the
    /// default directories of an installation and of a demonstration.
    private static func keysOfUp(settings: ResolvedSettings) -> [SealingKeys] {
        let directories = [false, true].compactMap {
            try? Command.dataDirectory(settings: settings, isDemo: $0)
        }
        return Set(directories).compactMap { try? SealingKeys(file: $0 + "/sealing-keys") }
    }

    private static func readKeys(from path: String) throws -> SealingKeys {
        do {
            return try SealingKeys(file: path)
        } catch {
            throw CommandError(status: .dataError, "\(error)")
        }
    }

    /// Writes the file completely and to disk before it gets its name: a lost key loses all tokens that it
    /// sealed.
    private static func createFile(at path: String, in data: String) throws {
        let draft = path + ".new"
        let descriptor = unsafe linux_open(draft, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw failure(to: "make", path: draft) }
        defer { close(descriptor) }
        let text = Array(SealingKeys.makeText().utf8)
        guard unsafe write(descriptor, text, text.count) == text.count, fsync(descriptor) == 0 else {
            throw failure(to: "write", path: draft)
        }
        guard unsafe rename(draft, path) == 0 else { throw failure(to: "name", path: path) }
        // The directory is synced too. Otherwise a crash of the machine could lose the file, and the next
        // start would make other keys.
        let directory = unsafe linux_open(data, O_RDONLY | O_DIRECTORY, 0)
        guard directory >= 0 else { throw failure(to: "open the directory of", path: path) }
        defer { close(directory) }
        guard fsync(directory) == 0 else { throw failure(to: "keep the name of", path: path) }
    }

    private static func failure(to verb: String, path: String) -> CommandError {
        CommandError(
            status: .cannotCreate,
            "cannot \(verb) the sealing keys \(path): \(unsafe String(cString: strerror(errno)))")
    }
}
