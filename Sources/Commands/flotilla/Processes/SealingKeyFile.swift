internal import CLinux
internal import Catalog
internal import Glibc
internal import Lifecycle
internal import Settings
internal import Telemetry
internal import TokenSealing

/// The file of the sealing keys, which encrypt push tokens at rest. The setting `tokens.sealing-keys-file` names it, or
/// `flotilla up` creates it in its data directory.
enum SealingKeyFile {
    /// The path of the file that `flotilla up` creates, below its data directory.
    private static let pathInDataDirectory = "/sealing-keys"

    /// Returns the keys of the file that is set, or nil if none is set.
    static func read(settings: ResolvedSettings, log: Log) throws -> SealingKeys? {
        if let path = settings[SealingSettings.self].keysFile { return try readKeys(from: path) }
        log.warning(
            "push tokens are not encrypted; name a file of keys with tokens.sealing-keys-file")
        return nil
    }

    /// Returns the keys of the file that is set, or of the file in the data directory, which is created if it is
    /// missing.
    static func readOrCreate(settings: ResolvedSettings, in dataDirectory: String, log: Log) throws
        -> SealingKeys?
    {
        if settings[SealingSettings.self].keysFile != nil { return try read(settings: settings, log: log) }
        let path = dataDirectory + pathInDataDirectory
        if unsafe access(path, F_OK) != 0 {
            try createFile(at: path, in: dataDirectory)
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
        try createFile(at: path, in: directory(of: path))
    }

    private static func directory(of path: String) -> String {
        guard let lastSlash = path.lastIndex(of: "/") else { return "." }
        return lastSlash == path.startIndex ? "/" : String(path[..<lastSlash])
    }

    /// Returns the keys for a command that works beside the running processes. If no file is set, these are
    /// the keys of a `flotilla up` on this machine, provided that the installation uses them. Throws if the
    /// file that is set has other keys than the installation.
    static func read(settings: ResolvedSettings, for catalog: CatalogSnapshot) throws -> SealingKeys? {
        let now = WallTime.now().milliseconds
        guard let path = settings[SealingSettings.self].keysFile else {
            guard catalog.sealingRecord != nil else { return nil }
            return keysOfUp(settings: settings).first { candidate in
                let verdict = SealingKeys.verdict(on: candidate, recorded: catalog.sealingRecord, now: now)
                if case .accepted = verdict { return true }
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

    /// Returns the keys that `flotilla up` made in its data directory: the directory that is set, the default
    /// directories of an installation and of a demonstration, or the directory that a running one announces.
    private static func keysOfUp(settings: ResolvedSettings) -> [SealingKeys] {
        let knownDirectories = [false, true].compactMap {
            try? Command.dataDirectory(settings: settings, isDemo: $0)
        }
        let directories = knownDirectories + RunningInstallation.dataDirectories(settings: settings)
        return Set(directories).compactMap { try? SealingKeys(file: $0 + pathInDataDirectory) }
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
    private static func createFile(at path: String, in directory: String) throws {
        let draft = path + ".new"
        let descriptor = unsafe linux_open(draft, O_WRONLY | O_CREAT | O_TRUNC, 0o600)
        guard descriptor >= 0 else { throw failure(to: "make", path: draft) }
        defer { close(descriptor) }
        let text = Array(SealingKeys.makeText().utf8)
        guard writeFully(text, to: descriptor), fsync(descriptor) == 0 else {
            throw failure(to: "write", path: draft)
        }
        guard unsafe rename(draft, path) == 0 else { throw failure(to: "rename \(draft) to", path: path) }
        // The directory is synced too. Otherwise a crash of the machine could lose the file, and the next
        // start would make other keys.
        let directoryDescriptor = unsafe linux_open(directory, O_RDONLY | O_DIRECTORY, 0)
        guard directoryDescriptor >= 0 else { throw failure(to: "open the directory of", path: path) }
        defer { close(directoryDescriptor) }
        guard fsync(directoryDescriptor) == 0 else { throw failure(to: "keep the name of", path: path) }
    }

    /// Writes all bytes. Returns false if a call fails, with the reason in `errno`. A call may write only a part, for
    /// example on a disk that is nearly full. Then the next call gives the reason.
    private static func writeFully(_ bytes: [UInt8], to descriptor: Int32) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = unsafe rest.withUnsafeBytes { unsafe write(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func failure(to verb: String, path: String) -> CommandError {
        CommandError(
            status: .cannotCreate,
            "cannot \(verb) the sealing keys \(path): \(SystemError.text(for: errno))")
    }
}
