/// The settings of transactions. The defaults are Apache Kafka's.
package struct TransactionSettings: Sendable {
    /// A producer that asks for more is refused with INVALID_TRANSACTION_TIMEOUT.
    package var timeoutMaximumMilliseconds = 900_000
    /// A transactional id without use for this time is forgotten.
    package var idExpirationMilliseconds: Int64 = 7 * 86_400_000
    package var idExpirationCheckMilliseconds = 3_600_000
    /// The wait after a failed append, and between two attempts at the same markers. It does not grow: readers of
    /// committed records wait for a marker, and so does the next transaction of the same id.
    package var retryMilliseconds = 100

    /// Above it a new transactional id is refused with POLICY_VIOLATION.
    package var transactionalIDsMax = 100_000
    /// Above it AddOffsetsToTxn is refused with INVALID_REQUEST.
    package var groupsPerTransactionMax = 1_000
    /// Size of the blocks in which producer ids are reserved in the log. A restart skips the rest of a
    /// block.
    package var producerIDBlock: Int64 = 1_000
}
