package import Lifecycle
package import Telemetry

/// The signing keys of a process and their provider tokens, shared by all event loops. The first loop that needs
/// a token makes it, and the others reuse it.
///
/// Loops ask a few times a second and not for each push, so the lock is rarely contended. The lock is held
/// during a signature, so that two loops never make two tokens.
package final class ProviderTokens: Sendable {
    /// The state under the lock.
    private struct SignerTable {
        var signers: [ProviderKeyName: ProviderSigner] = [:]
        /// Stamps of files that could not be read, by path. A file is read again when its stamp changes.
        var unreadableStamps: [String: ProviderKeyFile.FileStamp] = [:]
        /// The newest number that a token or key got. All keys share one sequence.
        var lastRevision = 0

        mutating func nextRevision() -> Int {
            lastRevision += 1
            return lastRevision
        }
    }

    private let source: ProviderKeySource
    private let clocks: @Sendable (Instant) -> ProviderClocks
    private let signerTable = TracedLock(SignerTable())
    private let tokensMade: Counter

    /// Creates the store without reading files. `reload` reads them and returns the problems.
    ///
    /// - Parameter clocks: returns the times of the clocks. It gets the current instant, and always returns
    ///   the same number of times.
    package init(
        source: ProviderKeySource, metrics: Metrics,
        clocks: @escaping @Sendable (Instant) -> ProviderClocks = { _ in ProviderClocks(trusted: .now()) }
    ) {
        self.source = source
        self.clocks = clocks
        tokensMade = metrics.counter(
            "flotilla_apns_provider_tokens_total",
            help: "Provider tokens made. Apple refuses a key with more than three an hour.")
        metrics.gauge(
            "flotilla_apns_provider_token_age_seconds",
            help: "Age of the oldest provider token in use. Apple refuses tokens older than 3600 s."
        ) { [weak self] in self?.ages(at: Instant.now()).values.max() ?? 0 }
    }

    /// Returns the token for pushes of this team and key, or nil without a key file.
    package func bearer(for name: ProviderKeyName, at now: Instant) -> BearerToken? {
        let clocks = clocks(now)
        let (bearer, isNew): (BearerToken?, Bool) = signerTable.withLock { table in
            guard var signer = table.signers[name] else { return (nil, false) }
            let oldCount = signer.signedCount
            let bearer = signer.bearer(at: now, by: clocks) { table.nextRevision() }
            table.signers[name] = signer
            return (bearer, signer.signedCount > oldCount)
        }
        if isNew { tokensMade.add(1) }
        return bearer
    }

    /// Handles ExpiredProviderToken for the token of this revision. Returns true if the next call of `bearer`
    /// returns a newer token. Returns false if the token is too young to be replaced and no clock disagrees
    /// with it. Then a new connection is the remedy.
    package func handleExpired(for name: ProviderKeyName, revision: Int, at now: Instant) -> Bool {
        let clocks = clocks(now)
        return signerTable.withLock {
            $0.signers[name]?.handleExpired(revision: revision, at: now, by: clocks) ?? false
        }
    }

    /// Handles TooManyProviderTokenUpdates for the token of this revision. Returns true if it must be logged:
    /// once in 20 minutes.
    package func handleTooMany(for name: ProviderKeyName, revision: Int, at now: Instant) -> Bool {
        signerTable.withLock { table in
            guard var signer = table.signers[name] else { return false }
            let isFirstReport = signer.handleTooMany(revision: revision, at: now) { table.nextRevision() }
            table.signers[name] = signer
            return isFirstReport
        }
    }

    /// Returns the known keys, with the age of their tokens in seconds.
    package func ages(at now: Instant) -> [ProviderKeyName: Double] {
        signerTable.withLock { $0.signers.mapValues { $0.ageSeconds(at: now) } }
    }

    // MARK: Files

    /// Checks every key file and reads the changed ones. A key whose file was removed is forgotten. A key
    /// whose file cannot be read any more stays in use, and the problem is returned.
    ///
    /// Reads from disk: do not call on an event loop.
    @discardableResult
    package func reload() -> [ProviderKeyError] {
        let files: [ProviderKeyName: String]
        do { files = try source.list() } catch { return [error] }
        let (knownFiles, unreadableStamps) = signerTable.withLock { table in
            table.signers = table.signers.filter { files[$0.key] != nil }
            return (table.signers.mapValues(\.file), table.unreadableStamps)
        }
        var problems: [ProviderKeyError] = []
        for (name, path) in files.sorted(by: { $0.value < $1.value }) {
            do {
                let stamp = try ProviderKeyFile.readStamp(of: path)
                if knownFiles[name]?.stamp == stamp || unreadableStamps[path] == stamp { continue }
                // Set first: `store` removes it if the file can be read.
                signerTable.withLock { $0.unreadableStamps[path] = stamp }
                store(for: name, file: try ProviderKeyFile(path: path))
            } catch {
                problems.append(error)
            }
        }
        return problems
    }

    /// Uses the key of a file. A file with the same key as before keeps its tokens.
    private func store(for name: ProviderKeyName, file: ProviderKeyFile) {
        signerTable.withLock { table in
            table.unreadableStamps[file.path] = nil
            guard var signer = table.signers[name] else {
                table.signers[name] = ProviderSigner(
                    name: name, file: file, keyRevision: table.nextRevision())
                return
            }
            if signer.file.hasSameKey(as: file) {
                signer.file = file
            } else {
                signer.replaceKey(with: file, keyRevision: table.nextRevision())
            }
            table.signers[name] = signer
        }
    }
}
