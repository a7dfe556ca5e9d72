package import Lifecycle
package import Telemetry

/// The provider keys and their tokens, for all event loops of a process: a token is made once, by
/// whoever needs it first, and the others find it made.
///
/// Loops ask a few times a second, not per push, so the lock is nearly free; what is done under it is
/// at most one signature, so that two loops never make two tokens.
package final class ProviderTokens: Sendable {
    private struct State {
        var signers: [ProviderKeyName: ProviderSigner] = [:]
        /// Files that could not be read, as they were: they are tried again when they change.
        var refused: [String: ProviderKeyFile.Stamp] = [:]
        var lastRevision = 0

        mutating func nextRevision() -> Int {
            lastRevision += 1
            return lastRevision
        }
    }

    private let source: ProviderKeySource
    private let clocks: @Sendable (Instant) -> ProviderClocks
    private let state = TracedLock(State())
    private let made: Counter

    /// Reads nothing yet: `reload` does, and says what is wrong.
    ///
    /// - Parameter clocks: what they show at an instant, which is the present; always as many.
    package init(
        _ source: ProviderKeySource, metrics: Metrics,
        clocks: @escaping @Sendable (Instant) -> ProviderClocks = { _ in ProviderClocks(.now()) }
    ) {
        self.source = source
        self.clocks = clocks
        made = metrics.counter(
            "flotilla_apns_provider_tokens_total",
            help: "Provider tokens made; more than three an hour and key make Apple refuse them.")
        metrics.gauge(
            "flotilla_apns_provider_token_age_seconds",
            help: "Age of the oldest provider token in use; Apple refuses them at 3600."
        ) { [weak self] in self?.ages(at: Instant.now()).values.max() ?? 0 }
    }

    /// The token for pushes of this team and key, nil without a key file.
    package func bearer(_ name: ProviderKeyName, at now: Instant) -> ProviderBearer? {
        let clocks = clocks(now)
        let (bearer, isNew): (ProviderBearer?, Bool) = state.withLock { state in
            guard var signer = state.signers[name] else { return (nil, false) }
            let before = signer.madeCount
            let bearer = signer.bearer(at: now, by: clocks) { state.nextRevision() }
            state.signers[name] = signer
            return (bearer, signer.madeCount > before)
        }
        if isNew { made.add(1) }
        return bearer
    }

    /// APNs said that this token has expired. True when a newer one is there; false when this one is
    /// too young to be made anew, no clock says otherwise than it, and a new connection is the remedy.
    package func expired(_ name: ProviderKeyName, revision: Int, at now: Instant) -> Bool {
        let clocks = clocks(now)
        return state.withLock { $0.signers[name]?.expired(revision, at: now, by: clocks) ?? false }
    }

    /// APNs said that tokens are made too often.
    package func tooMany(_ name: ProviderKeyName, revision: Int, at now: Instant) {
        state.withLock { state in
            guard var signer = state.signers[name] else { return }
            signer.tooMany(revision, at: now) { state.nextRevision() }
            state.signers[name] = signer
        }
    }

    /// The keys that are there, and the age of their tokens in seconds.
    package func ages(at now: Instant) -> [ProviderKeyName: Double] {
        state.withLock { $0.signers.mapValues { $0.ageSeconds(at: now) } }
    }

    // MARK: Files

    /// Looks at every key file and reads those that changed. A key that is gone is forgotten; one that
    /// cannot be read any more is kept as it was, and told.
    ///
    /// Reads disks: not for event loops.
    @discardableResult
    package func reload() -> [ProviderKeyProblem] {
        let files: [ProviderKeyName: String]
        do { files = try source.list() } catch { return [error] }
        let known = state.withLock { state in
            state.signers = state.signers.filter { files[$0.key] != nil }
            return (state.signers.mapValues(\.file), state.refused)
        }
        var problems: [ProviderKeyProblem] = []
        for (name, path) in files.sorted(by: { $0.value < $1.value }) {
            do {
                let stamp = try ProviderKeyFile.stamp(path)
                if known.0[name]?.stamp == stamp || known.1[path] == stamp { continue }
                state.withLock { $0.refused[path] = stamp }
                take(name, try ProviderKeyFile(path))
            } catch {
                problems.append(error)
            }
        }
        return problems
    }

    private func take(_ name: ProviderKeyName, _ file: ProviderKeyFile) {
        state.withLock { state in
            state.refused[file.path] = nil
            guard var signer = state.signers[name] else {
                state.signers[name] = ProviderSigner(name, file, keyRevision: state.nextRevision())
                return
            }
            if signer.file.isSameKey(as: file) {
                signer.file = file
            } else {
                signer.replaceKey(file, keyRevision: state.nextRevision())
            }
            state.signers[name] = signer
        }
    }
}
