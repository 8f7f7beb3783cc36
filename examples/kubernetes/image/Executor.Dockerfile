# Executors: Spark as it is, with the client of the file system of checkpoints. ksqlpy's classes come from the driver.
FROM apache/spark:4.3.0-scala2.13-java17-ubuntu

USER root
# For s3a:// checkpoints put hadoop-aws and the AWS SDK that it names beside this file, of Hadoop's version in Spark.
# COPY wants one file at least, so this one goes along.
COPY Executor.Dockerfile *.jar /opt/spark/jars/
USER spark
