import Glibc
import Kafka
import ProcessTesting
import Testing

// The slots of a data directory. A process locks a slot, `slot-0` and so on, and has the slot's id as its identity.

@Test func `a restarted process takes its slot and its identity again`() throws {
    let directory = try TemporaryDirectory()
    var slot: ProcessSlot? = try ProcessSlot.acquire(under: directory.path)
    let first = slot!.identity(stage: "expander", loop: 2)
    #expect(first.hasPrefix("flotilla.expander.") && first.hasSuffix(".2"))
    slot = nil
    let again = try ProcessSlot.acquire(under: directory.path)
    #expect(again.identity(stage: "expander", loop: 2) == first)
    #expect(again.number == 0)
}

@Test func `two processes never share a slot`() throws {
    let directory = try TemporaryDirectory()
    let one = try ProcessSlot.acquire(under: directory.path)
    let two = try ProcessSlot.acquire(under: directory.path)
    #expect(one.number == 0 && two.number == 1)
    #expect(one.id != two.id)
    #expect(one.id.utf8.count == 32)
}

@Test func `the first free slot is taken, not the next one`() throws {
    let directory = try TemporaryDirectory()
    var first: ProcessSlot? = try ProcessSlot.acquire(under: directory.path)
    let second = try ProcessSlot.acquire(under: directory.path)
    let id = first!.id
    first = nil
    let third = try ProcessSlot.acquire(under: directory.path)
    #expect(third.number == 0 && third.id == id)
    #expect(second.number == 1)
}

@Test func `a slot that is a link to a missing directory is an error`() async throws {
    let directory = try TemporaryDirectory()
    let path = directory.path + "/slot-0"
    #expect(symlink(directory.path + "/missing", path) == 0)
    await #expect(throws: SlotError.systemCallFailed(verb: "open", path: path, code: ENOENT)) {
        try await promptResult("the attempts to open the slot end") { [path = directory.path] in
            try ProcessSlot.acquire(under: path)
        }
    }
}

@Test func `a killed process releases its slot`() throws {
    let directory = try TemporaryDirectory()
    // Debian's `flock` holds the lock in another process until that process dies.
    mkdir(directory.path + "/slot-0", 0o700)
    let locker = try SpawnedProcess("/usr/bin/flock", ["--close", directory.path + "/slot-0", "/bin/cat"])
    // Each slot that is acquired in a loop is released at once.
    let attemptsMax = 10_000
    var attemptCount = 0
    while try ProcessSlot.acquire(under: directory.path).number == 0, attemptCount < attemptsMax {
        usleep(1_000)
        attemptCount += 1
    }
    #expect(attemptCount < attemptsMax, "flock never took the lock")
    locker.kill()
    // A child process that another test starts inherits this process's files for a moment, until its exec.
    attemptCount = 0
    while try ProcessSlot.acquire(under: directory.path).number != 0, attemptCount < attemptsMax {
        usleep(1_000)
        attemptCount += 1
    }
    #expect(attemptCount < attemptsMax, "the lock outlives its holder")
}

@Test func `the error says that all slots are taken`() throws {
    let directory = try TemporaryDirectory()
    let one = try ProcessSlot.acquire(under: directory.path, slotsMax: 1)
    #expect(throws: SlotError.allSlotsHeld(directory: directory.path, count: 1)) {
        try ProcessSlot.acquire(under: directory.path, slotsMax: 1)
    }
    #expect(one.number == 0)
}

@Test(arguments: ["", "0123", "not hexadecimal, and just as long!\n", "0123456789abcdef0123456789abcdef"])
func `an id that is not 32 hexadecimal digits and a line feed is replaced`(text: String) throws {
    let directory = try TemporaryDirectory()
    mkdir(directory.path + "/slot-0", 0o700)
    _ = try directory.writeFile(named: "slot-0/id", content: text)
    let id = try ProcessSlot.acquire(under: directory.path, randomByte: { 0xAB }).id
    #expect(id == String(repeating: "ab", count: 16))
    #expect(try ProcessSlot.acquire(under: directory.path).id == id)
}

@Test func `a data directory that cannot be made is reported in one sentence`() throws {
    let directory = try TemporaryDirectory()
    let file = try directory.writeFile(named: "file", content: "")
    let error = #expect(throws: SlotError.self) { try ProcessSlot.acquire(under: file + "/data") }
    #expect(
        error?.description
            == "cannot make \(file)/data: Not a directory; move the file that has this name")
}

/// A child process with a standard input that never ends by itself.
private struct SpawnedProcess {
    private var id: pid_t = 0
    private let input: Int32

    init(_ path: String, _ arguments: [String]) throws {
        var pipes: [Int32] = [0, 0]
        try #require(pipe(&pipes) == 0)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, pipes[0], 0)
        posix_spawn_file_actions_addclose(&actions, pipes[1])
        var words = ([path] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        try #require(posix_spawn(&id, path, &actions, nil, &words, environ) == 0)
        posix_spawn_file_actions_destroy(&actions)
        close(pipes[0])
        input = pipes[1]
    }

    /// Kills the process. Closing its input ends the program that it started.
    func kill() {
        Glibc.kill(id, SIGKILL)
        close(input)
        var status: Int32 = 0
        waitpid(id, &status, 0)
    }
}
