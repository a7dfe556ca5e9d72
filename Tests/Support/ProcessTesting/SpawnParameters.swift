internal import Foundation

/// The parameters of `posix_spawn` for a child. The child blocks and ignores no signals, independent of the thread that
/// starts it.
struct SpawnParameters {
    let path: String
    /// The arguments, of which the first is the program's name.
    let arguments: [String]
    /// The variables, each as `NAME=VALUE`.
    let environment: [String]
    /// The descriptors of the child's standard streams. An input of nil is empty.
    let input: Int32?
    let output: Int32
    let errors: Int32

    /// Starts the child and returns its process id.
    func spawn() throws -> Int32 {
        var actions = unsafe posix_spawn_file_actions_t()
        unsafe posix_spawn_file_actions_init(&actions)
        defer { unsafe posix_spawn_file_actions_destroy(&actions) }
        if let input {
            unsafe posix_spawn_file_actions_adddup2(&actions, input, 0)
        } else {
            unsafe posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        }
        unsafe posix_spawn_file_actions_adddup2(&actions, output, 1)
        unsafe posix_spawn_file_actions_adddup2(&actions, errors, 2)

        var attributes = posix_spawnattr_t()
        unsafe posix_spawnattr_init(&attributes)
        defer { unsafe posix_spawnattr_destroy(&attributes) }
        var noSignals = sigset_t()
        unsafe sigemptyset(&noSignals)
        var allSignals = sigset_t()
        unsafe sigfillset(&allSignals)
        unsafe posix_spawnattr_setsigmask(&attributes, &noSignals)
        unsafe posix_spawnattr_setsigdefault(&attributes, &allSignals)
        unsafe posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF))

        var processID: pid_t = 0
        let code = unsafe withCStrings(arguments) { arguments in
            unsafe withCStrings(environment) { environment in
                unsafe posix_spawn(&processID, path, &actions, &attributes, arguments, environment)
            }
        }
        guard code == 0 else { throw SpawnError(action: "start \(path)", code: code) }
        return processID
    }

    /// Calls `body` with the strings as a null-terminated list of C strings, which is valid only during the call.
    private func withCStrings<R>(
        _ strings: [String], body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> R
    ) -> R {
        var pointers = unsafe strings.map { unsafe strdup($0) } + [nil]
        defer { for index in unsafe pointers.indices { unsafe free(pointers[index]) } }
        return unsafe pointers.withUnsafeMutableBufferPointer { unsafe body($0.baseAddress!) }
    }
}
